// Prints the limits that the library finds, and whether it computes: for ./dev check containers, which runs
// it in folders with a made-up /proc and /sys, or with none.
#include <cstdint>
#include <cstdio>
#include <string>

#include "acl/acl.h"
#include "aclnnop/aclnn_embedding.h"
#include "openaclnn/openaclnn.h"

namespace {

std::string take_text() {
  const char* const text = aclGetRecentErrMsg();
  return text != nullptr ? text : "";
}

aclTensor* tensor(const int64_t (&dims)[2], uint64_t rank, aclDataType dtype, void* data) {
  return aclCreateTensor(dims, rank, dtype, nullptr, 0, ACL_FORMAT_ND, dims, rank, data);
}

// Reads rows 2 and 0 of a table; returns false if a call fails or the values are wrong.
bool computes() {
  float table[3] = {10, 20, 30}, rows[2] = {};
  int64_t indices[2] = {2, 0};
  const int64_t table_dims[2] = {3, 1}, row_dims[2] = {2, 1};
  aclrtStream stream = nullptr;
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  const bool is_done = aclrtCreateStream(&stream) == 0 &&
                       aclnnEmbeddingGetWorkspaceSize(
                           tensor(table_dims, 2, ACL_FLOAT, table), tensor(row_dims, 1, ACL_INT64, indices),
                           tensor(row_dims, 2, ACL_FLOAT, rows), &bytes, &executor) == 0 &&
                       aclnnEmbedding(nullptr, 0, executor, stream) == 0 &&
                       aclrtSynchronizeStream(stream) == 0 && aclrtDestroyStream(stream) == 0;
  return is_done && rows[0] == 30 && rows[1] == 10;
}

}  // namespace

int main() {
  if (aclrtSetDevice(0) != 0) {
    std::printf("error=%s\n", take_text().c_str());
    return 1;
  }
  static char described[1 << 16];
  uint64_t length = 0;
  if (openaclnnDescribe(described, sizeof described, &length) == 0) std::printf("describe=%s\n", described);
  size_t free_bytes = 0, total_bytes = 0;
  const int code = aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes);
  std::printf("meminfo=%d %zu %zu\n", code, free_bytes, total_bytes);
  (void)take_text();
  void* block = nullptr;
  const int refused = aclrtMalloc(&block, size_t{1} << 62, ACL_MEM_MALLOC_HUGE_FIRST);
  std::printf("malloc=%d %s\n", refused, take_text().c_str());
  const bool is_right = computes();
  std::printf("computes=%s %s\n", is_right ? "yes" : "no", take_text().c_str());
  return is_right ? 0 : 1;
}
