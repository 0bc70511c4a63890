// A process forks while other threads use the library for the first time. fork_test runs it; each mode must
// exit with 0.
//   first_use_program blocked      a thread is in the middle of the first use: its output to stderr has no
//   reader
//   first_use_program race DELAY   threads start at the same moment, the process forks DELAY nanoseconds
//   later
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_embedding.h"

namespace {

constexpr unsigned kSeconds = 60;

bool use_everything() {
  if (aclrtSetDevice(0) != 0) return false;
  aclrtStream stream = nullptr;
  if (aclrtCreateStream(&stream) != 0) return false;
  float weight[] = {0, 10, 20};
  int64_t index = 2;
  float out = 0;
  const int64_t table[] = {3, 1}, one[] = {1}, row[] = {1, 1};
  aclTensor* const w = aclCreateTensor(table, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, table, 2, weight);
  aclTensor* const i = aclCreateTensor(one, 1, ACL_INT64, nullptr, 0, ACL_FORMAT_ND, one, 1, &index);
  aclTensor* const o = aclCreateTensor(row, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, row, 2, &out);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  bool right = aclnnEmbeddingGetWorkspaceSize(w, i, o, &bytes, &executor) == 0 &&
               aclnnEmbedding(nullptr, 0, executor, stream) == 0 && aclrtSynchronizeStream(stream) == 0 &&
               out == 20;
  // Large enough for several threads, and an error that leaves a text.
  std::vector<char> memory(1 << 20);
  right = right && aclrtMemsetAsync(memory.data(), memory.size(), 7, memory.size(), stream) == 0 &&
          aclrtSynchronizeStream(stream) == 0 && memory.back() == 7 && aclrtDestroyStream(nullptr) != 0 &&
          aclGetRecentErrMsg() != nullptr;
  for (aclTensor* tensor : {w, i, o}) right = aclDestroyTensor(tensor) == 0 && right;
  return aclrtDestroyStream(stream) == 0 && right;
}

// Forks; the child uses everything. The parent's exit code: 0 when the child's was.
int child_works() {
  const pid_t child = fork();
  if (child < 0) return 3;
  if (child == 0) {
    alarm(kSeconds / 2);
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    _exit(use_everything() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) std::printf("the child hung, or died of signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

int blocked() {
  int ends[2];
  if (pipe(ends) != 0) return 3;
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const std::vector<char> filling(4096, '.');
  while (write(ends[1], filling.data(), filling.size()) > 0) {
  }
  fcntl(ends[1], F_SETFL, 0);
  dup2(ends[1], STDERR_FILENO);
  std::thread([] { (void)use_everything(); }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // it waits at the pipe, which nothing reads
  return child_works();
}

int race(long delay) {
  constexpr int kThreads = 3;
  static std::atomic<int> waiting{kThreads + 1};
  const auto together = [] {
    --waiting;
    while (waiting > 0) {
    }
  };
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int k = 0; k < kThreads; ++k) {
    threads.emplace_back([&] {
      together();
      if (!use_everything()) ++wrong;
    });
  }
  together();
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::nanoseconds(delay)) {
  }
  const int code = child_works();
  for (std::thread& thread : threads) thread.join();
  return wrong == 0 ? code : 5;
}

}  // namespace

int main(int argc, char** argv) {
  alarm(kSeconds);
  int code = 2;
  if (argc == 2 && std::strcmp(argv[1], "blocked") == 0) code = blocked();
  if (argc == 3 && std::strcmp(argv[1], "race") == 0) code = race(std::atol(argv[2]));
  std::fflush(stdout);  // not stderr: a thread may hold it
  _exit(code);
}
