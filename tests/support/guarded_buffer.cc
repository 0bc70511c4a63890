// The guard pages, with mmap and mprotect.
#include "support/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "acl/acl.h"

namespace openaclnn_test {

namespace {

void require(bool ok, const char* what) {
  if (ok) return;
  std::perror(what);
  std::abort();
}

}  // namespace

GuardedBuffer::GuardedBuffer(size_t bytes, Placement placement)
    : bytes_(bytes),
      mapped_(placement != Placement::library),
      has_canaries_(mapped_ && placement != Placement::sparse) {
  if (!mapped_) {
    void* block = nullptr;
    require(aclrtMalloc(&block, std::max<size_t>(bytes, 1), ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS,
            "aclrtMalloc");
    data_ = mapping_ = static_cast<std::byte*>(block);
  } else {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t behind = placement == Placement::off_a_line ? 8 : 0;
    const size_t inside = (bytes + behind + page - 1) / page * page;
    mapping_bytes_ = inside + 2 * page;
    void* mapping =
        mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(mapping != MAP_FAILED, "mmap");
    mapping_ = static_cast<std::byte*>(mapping);
    std::byte* const first = mapping_ + page;
    if (inside > 0) {
      require(mprotect(first, inside, PROT_READ | PROT_WRITE) == 0, "mprotect");
      if (has_canaries_) std::memset(first, kCanary, inside);
    }
    data_ = placement == Placement::starts_at_guard ? first : first + inside - behind - bytes;
  }
  if (placement == Placement::library && bytes > 0) std::memset(data_, kCanary, bytes);
}

GuardedBuffer::~GuardedBuffer() {
  if (mapped_) {
    munmap(mapping_, mapping_bytes_);
  } else {
    aclrtFree(mapping_);
  }
}

bool GuardedBuffer::margins_intact() const {
  if (!has_canaries_) return true;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto is_canary = [](std::byte b) { return b == std::byte{kCanary}; };
  return std::all_of(mapping_ + page, data_, is_canary) &&
         std::all_of(data_ + bytes_, mapping_ + mapping_bytes_ - page, is_canary);
}

}  // namespace openaclnn_test
