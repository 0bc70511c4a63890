// Implements guard pages with mmap and mprotect.
#include "verify/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "acl/acl.h"
#include "verify/runner.h"

namespace openaclnn_verify {

namespace {

void require(bool ok, const char* what) {
  if (ok) return;
  std::perror(what);
  std::abort();
}

// Mappings of destroyed buffers, by size. Their guard pages and access rights do not change.
struct KeptMappings {
  static constexpr size_t kMostPages = 16, kMostOfASize = 64;
  bool enabled = false;
  std::array<std::vector<std::byte*>, kMostPages + 1> by_pages;

  std::vector<std::byte*>* list(size_t pages) {
    return enabled && pages <= kMostPages ? &by_pages[pages] : nullptr;
  }
};
KeptMappings& kept_mappings() {
  static KeptMappings kept;
  return kept;
}

// OPENACLNN_TEST_PLACEMENT=library: all memory of tests comes from aclrtMalloc of a library that uses its
// guard allocator. Counts the blocks, so that the user can verify it.
class LibraryMemory {
 public:
  static LibraryMemory& instance() {
    static LibraryMemory made;
    return made;
  }
  ~LibraryMemory() {
    if (is_asked_for_) std::printf("figure blocks %ld\n", blocks_.load());
  }
  Placement instead_of(Placement placement) const {
    if (DeviceTwin::is_asked_for() && placement == Placement::library) return Placement::ends_at_guard;
    return is_asked_for_ && placement != Placement::sparse ? Placement::library : placement;
  }
  // Recognises the guard allocator by the position and contents of a block.
  void require_guard(const std::byte* block, size_t bytes) {
    if (!is_asked_for_) return;
    const auto end = reinterpret_cast<uintptr_t>(block) + (bytes + 63) / 64 * 64;
    require(end % static_cast<size_t>(sysconf(_SC_PAGESIZE)) == 0 && block[0] == std::byte{0xFF},
            "the guard allocator is not used");
    ++blocks_;
  }

 private:
  const bool is_asked_for_ = [] {
    const char* const setting = std::getenv("OPENACLNN_TEST_PLACEMENT");
    return setting != nullptr && std::strcmp(setting, "library") == 0;
  }();
  std::atomic<long> blocks_{0};
};

}  // namespace

GuardedBuffer::GuardedBuffer(size_t bytes, Placement wanted)
    : GuardedBuffer(LibraryMemory::instance().instead_of(wanted), bytes) {}

GuardedBuffer::GuardedBuffer(Placement placement, size_t bytes)
    : bytes_(bytes),
      mapped_(placement != Placement::library),
      has_canaries_(mapped_ && placement != Placement::sparse) {
  if (!mapped_) {
    use_device();
    void* block = nullptr;
    require(aclrtMalloc(&block, std::max<size_t>(bytes, 1), ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS,
            "aclrtMalloc");
    data_ = mapping_ = static_cast<std::byte*>(block);
    LibraryMemory::instance().require_guard(data_, std::max<size_t>(bytes, 1));
  } else {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t behind = placement == Placement::off_a_line ? 8 : 0;
    const size_t inside = (bytes + behind + page - 1) / page * page;
    mapping_bytes_ = inside + 2 * page;
    std::vector<std::byte*>* const kept = kept_mappings().list(has_canaries_ ? inside / page : SIZE_MAX);
    if (kept != nullptr && !kept->empty()) {
      mapping_ = kept->back();
      kept->pop_back();
    } else {
      void* mapping =
          mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (mapping == MAP_FAILED) throw std::bad_alloc();
      mapping_ = static_cast<std::byte*>(mapping);
      if (inside > 0 && mprotect(mapping_ + page, inside, PROT_READ | PROT_WRITE) != 0) {
        munmap(mapping_, mapping_bytes_);
        throw std::bad_alloc();
      }
    }
    std::byte* const first = mapping_ + page;
    if (has_canaries_) std::memset(first, kCanary, inside);
    data_ = placement == Placement::starts_at_guard ? first : first + inside - behind - bytes;
  }
  if (placement == Placement::library && bytes > 0) std::memset(data_, kCanary, bytes);
}

GuardedBuffer::~GuardedBuffer() {
  twin_.reset();
  if (mapped_) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    auto* const kept = kept_mappings().list(has_canaries_ ? mapping_bytes_ / page - 2 : SIZE_MAX);
    if (kept != nullptr && kept->size() < KeptMappings::kMostOfASize) {
      kept->push_back(mapping_);
    } else {
      munmap(mapping_, mapping_bytes_);
    }
  } else {
    require(aclrtFree(mapping_) == ACL_SUCCESS,
            "aclrtFree");  // reports writes around the block, if it has a guard allocator
  }
}

void* GuardedBuffer::address_for_library(const void* address) const {
  if (!DeviceTwin::is_asked_for()) return const_cast<void*>(address);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (twin_ == nullptr) twin_ = std::make_unique<DeviceTwin>(mapping_ + page, mapping_bytes_ - 2 * page);
  return twin_->address_of(address);
}

bool GuardedBuffer::all_canaries(std::span<const std::byte> bytes) {
  // Each byte equals the one before it: several times faster than a loop.
  return bytes.empty() || (bytes[0] == std::byte{kCanary} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

void GuardedBuffer::keep_mappings() { kept_mappings().enabled = true; }

bool GuardedBuffer::margins_intact() const {
  if (!has_canaries_) return true;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return all_canaries({mapping_ + page, data_}) &&
         all_canaries({data_ + bytes_, mapping_ + mapping_bytes_ - page});
}

}  // namespace openaclnn_verify
