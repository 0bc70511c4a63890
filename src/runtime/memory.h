// The table of memory blocks handed out by aclrtMalloc and aclrtMallocHost: who may be freed, and what lies inside a block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "runtime/device.h"

namespace openaclnn {

// A block of `usable_bytes` on the device. `requested_bytes` is only for the error sentence.
Result<void*> allocate_block(int device, size_t requested_bytes, size_t usable_bytes, MemorySpace space);

// Fails (107000) unless `address` is the start of a live block of that space. Memory that queued tasks use is returned
// after them; the call does not wait. Also fails, but frees, when the device sees that the program wrote outside the block.
Status free_block(void* address, MemorySpace space);

// Fails (107000) when `address` lies in a live block but the range leaves it, and, for device memory in strict mode, when it
// lies in none. `name` is the argument's.
enum class RangeOwner { device, host };
Status check_range(const char* name, const void* address, size_t bytes, RangeOwner owner);

// True when the range lies inside one live block.
bool inside_one_block(const void* address, size_t bytes);

// True when the address lies in a live block of either space.
bool is_known(const void* address);

}  // namespace openaclnn
