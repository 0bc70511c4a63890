// Tests programs that find functions by name: searches operators in libcust_opapi.so and then in
// libopapi.so, as framework extensions do, and shows that all of CANN's library names lead to one library
// with one state.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"

#define REQUIRE(condition)                                                               \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      return 1;                                                                          \
    }                                                                                    \
  } while (false)

namespace {

const std::vector<std::string> kNames = {
    "libascendcl.so",        "libacl_rt.so",     "libnnopbase.so",          "libopapi.so",
    "libopapi_math.so",      "libopapi_nn.so",   "libopapi_transformer.so", "libacl_op_compiler.so",
    "libaclnn_ops_infer.so", "libaclnn_math.so", "libcust_opapi.so"};

// Functions that must exist, and fail with a message.
const std::vector<const char*> kMissing = {"aclnnAdd",
                                           "aclnnAddGetWorkspaceSize",
                                           "aclnnMul",
                                           "aclnnMulGetWorkspaceSize",
                                           "aclnnReduceSum",
                                           "aclnnReduceSumGetWorkspaceSize",
                                           "aclnnRelu",
                                           "aclnnReluGetWorkspaceSize",
                                           "aclopCompile",
                                           "aclopCompileAndExecute",
                                           "aclopCompileAndExecuteV2",
                                           "aclopExecuteV2",
                                           "aclSetCompileopt",
                                           "aclGetCompileopt",
                                           "aclopSetCompileFlag",
                                           "aclGenGraphAndDumpForOp",
                                           "aclDestroyGraphDumpOpt"};

template <class Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

// Searches the custom library first, then the operators' library.
void* find_operator(const char* name) {
  for (const char* library : {"libcust_opapi.so", "libopapi.so"}) {
    void* const handle = dlopen(library, RTLD_LAZY);
    if (handle == nullptr) continue;
    if (void* const function = dlsym(handle, name)) return function;
  }
  return nullptr;
}

using CreateTensor = aclTensor* (*)(const int64_t*, uint64_t, aclDataType, const int64_t*, int64_t, aclFormat,
                                    const int64_t*, uint64_t, void*);
using DestroyTensor = aclnnStatus (*)(const aclTensor*);
using InitHugeMemory = int (*)(void*, bool);
using EndHugeMemory = void (*)(void*, bool);
using EmbeddingSize = aclnnStatus (*)(const aclTensor*, const aclTensor*, const aclTensor*, uint64_t*,
                                      aclOpExecutor**);
using Phase2 = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

// Two rows of a table, everything by name.
int gather_by_name() {
  const auto create = reinterpret_cast<CreateTensor>(find_operator("aclCreateTensor"));
  const auto destroy = reinterpret_cast<DestroyTensor>(find_operator("aclDestroyTensor"));
  const auto size = reinterpret_cast<EmbeddingSize>(find_operator("aclnnEmbeddingGetWorkspaceSize"));
  const auto launch = reinterpret_cast<Phase2>(find_operator("aclnnEmbedding"));
  const auto begin = reinterpret_cast<InitHugeMemory>(find_operator("InitHugeMemThreadLocal"));
  const auto end = reinterpret_cast<EndHugeMemory>(find_operator("UnInitHugeMemThreadLocal"));
  const auto release = reinterpret_cast<EndHugeMemory>(find_operator("ReleaseHugeMem"));
  REQUIRE(create && destroy && size && launch && begin && end && release);
  REQUIRE(find_operator("PTAGetExecCache") == nullptr);  // without it callers disable their own cache

  float table[3][2] = {{1, 2}, {3, 4}, {5, 6}}, out[2][2] = {};
  int64_t ids[2] = {2, 0};
  const int64_t table_dims[] = {3, 2}, id_dims[] = {2}, out_dims[] = {2, 2}, table_storage[] = {6},
                out_storage[] = {4};
  REQUIRE(begin(nullptr, false) == 0);
  aclTensor* const weight =
      create(table_dims, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, table_storage, 1, table);
  aclTensor* const indices = create(id_dims, 1, ACL_INT64, nullptr, 0, ACL_FORMAT_ND, id_dims, 1, ids);
  aclTensor* const result = create(out_dims, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, out_storage, 1, out);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  REQUIRE(size(weight, indices, result, &bytes, &executor) == 0 && bytes == 0);
  REQUIRE(launch(nullptr, 0, executor, nullptr) == 0);
  destroy(weight);
  destroy(indices);
  destroy(result);
  release(nullptr, false);
  end(nullptr, false);
  void* const runtime = dlopen("libascendcl.so", RTLD_NOW);
  REQUIRE(find<aclError (*)(aclrtStream)>(runtime, "aclrtSynchronizeStream")(nullptr) == 0);
  REQUIRE(out[0][0] == 5 && out[0][1] == 6 && out[1][0] == 1 && out[1][1] == 2);
  return 0;
}

// The newest message names this function and says that openaclnn lacks it.
bool has_refused(void* library, const char* function) {
  const char* const text = find<const char* (*)()>(library, "aclGetRecentErrMsg")();
  const std::string begin = std::string(function) + ": openaclnn does not have this ";
  return text != nullptr && std::strncmp(text, begin.c_str(), begin.size()) == 0;
}

// Every function is the same under every name, and objects made through one name are known to all others.
int one_state() {
  const int64_t dims[] = {2};
  for (const std::string& maker : kNames) {
    void* const makes = dlopen(maker.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(makes != nullptr);
    for (const std::string& user : kNames) {
      void* const uses = dlopen(user.c_str(), RTLD_NOW | RTLD_LOCAL);
      for (const char* name :
           {"aclInit", "aclrtMalloc", "aclCreateTensor", "aclnnNsaCompressGrad", "aclGetRecentErrMsg"}) {
        REQUIRE(dlsym(makes, name) != nullptr && dlsym(makes, name) == dlsym(uses, name));
      }
      aclTensor* const tensor = find<CreateTensor>(makes, "aclCreateTensor")(dims, 1, ACL_FLOAT, nullptr, 0,
                                                                             ACL_FORMAT_ND, dims, 1, nullptr);
      REQUIRE(tensor != nullptr && find<DestroyTensor>(uses, "aclDestroyTensor")(tensor) == 0);
    }
    for (const char* const name : kMissing) {
      const auto refuse = find<aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream)>(makes, name);
      REQUIRE(refuse != nullptr && refuse(nullptr, 0, nullptr, nullptr) == 561003);
      REQUIRE(has_refused(makes, name));
    }
    // Callers interpret these results as a size and a pointer.
    const auto option_size = find<size_t (*)(int)>(makes, "aclGetCompileoptSize");
    REQUIRE(option_size != nullptr && option_size(0) == 0 && has_refused(makes, "aclGetCompileoptSize"));
    const auto dump_options = find<void* (*)()>(makes, "aclCreateGraphDumpOpt");
    REQUIRE(dump_options != nullptr && dump_options() == nullptr &&
            has_refused(makes, "aclCreateGraphDumpOpt"));
  }
  return 0;
}

// Returns how often a file with this name is mapped as code.
int mapped(const char* name) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  if (maps == nullptr) return -1;
  char line[4096];
  int count = 0;
  while (std::fgets(line, sizeof(line), maps) != nullptr)
    count += std::strstr(line, "r-xp") && std::strstr(line, name) ? 1 : 0;
  std::fclose(maps);
  return count;
}

}  // namespace

int main() {
  void* const runtime = dlopen("libascendcl.so", RTLD_NOW);
  if (runtime == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  REQUIRE(runtime != nullptr);
  REQUIRE(find<aclError (*)(int32_t)>(runtime, "aclrtSetDevice")(0) == 0);
  if (gather_by_name() != 0 || one_state() != 0) return 1;
  REQUIRE(mapped("libopenaclnn.so") == 1);
  std::printf("%zu names, one library, one state\n", kNames.size());
  return 0;
}
