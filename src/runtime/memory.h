// The table of memory blocks that aclrtMalloc and aclrtMallocHost returned. It validates frees and address
// ranges.
#pragma once

#include <cstddef>
#include <optional>

#include "base/status.h"
#include "runtime/device.h"

namespace openaclnn {

// Allocates a block of `usable_bytes` on the device. `requested_bytes` is only used in the error message.
Result<void*> allocate_block(int device, size_t requested_bytes, size_t usable_bytes, MemorySpace space);

// Fails (107000) unless `address` is the start of a live block of that space. Memory that queued tasks use is
// released after them; the call does not wait. If the device detects that the program wrote outside the
// block, the call frees it but fails.
Status free_block(void* address, MemorySpace space);

// Fails (107000) if `address` is in a live block that the range exceeds. For device memory in strict mode it
// also fails if `address` is in no block. `name` is the argument's name.
enum class RangeOwner { device, host };
Status check_range(const char* name, const void* address, size_t bytes, RangeOwner owner);

// Returns the bytes from the address to the end of its live block, of either space; nothing if it is in none.
std::optional<size_t> bytes_to_end_of_block(const void* address);

// Returns true if the address is in a live block of either space.
bool is_known(const void* address);

}  // namespace openaclnn
