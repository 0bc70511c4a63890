// Memory for the tensors of one run: blocks of the library's allocator that live for the whole process.
// AddressSanitizer permits accesses only to the elements of the run's tensors, not to the gaps between
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fuzz/input.h"
#include "support/verify.h"
#include "verify/case.h"
#include "verify/random.h"

namespace openaclnn_test {

struct FuzzTensor {
  HostTensor host;
  Role role;
  bool has_strides;  // false: described with NULL strides
};

class Memory {
 public:
  Memory();

  // Forgets the tensors of the previous run.
  void reset();
  // Returns a tensor in a layout that the input chooses.
  FuzzTensor tensor(Input& in, Role role, aclDataType dtype, const Shape& dims);
  // Returns exactly this number of bytes; nullptr for 0.
  void* workspace(uint64_t bytes);

 private:
  struct Block {
    HostTensor memory;
    std::byte *used_begin, *used_end;
  };
  std::vector<Block> blocks_;
  size_t taken_ = 0;
  std::byte* workspace_ = nullptr;
  size_t workspace_bytes_ = 0, workspace_allowed_ = 0;
};

// Writes the elements; `random` determines the rest.
enum class FuzzData { ordinary, special, any_bits, kinds };
void fill(const HostTensor& tensor, FuzzData data, Random& random);

// Most numbers are in [0, limit) if `hostile` is 0. The others increase with `hostile` up to 3.
int64_t index_near(int64_t limit, int64_t hostile, Random& random);

}  // namespace openaclnn_test
