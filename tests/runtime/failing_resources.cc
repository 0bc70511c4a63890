// Replaces functions of the C and C++ libraries. The program's definitions also apply to the shared
// libraries that it loads.
#include "runtime/failing_resources.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

using runtime_test::Request;

std::atomic<bool> threads_refused{false};
thread_local long allocations_left = -1;
thread_local long failures = 0;

std::atomic<bool> is_armed{false};
std::atomic<long> seen{0}, first_to_refuse{-1};
std::atomic<bool> refuses_onwards{false};
std::atomic<long> refused_by_kind[runtime_test::kRequests];
std::atomic<long> live_allocations{0}, live_mapped{0}, live_files{0};

// Returns true if this request is to fail.
bool refuse(Request request) {
  if (request == Request::memory && allocations_left >= 0 && allocations_left-- == 0) {
    ++failures;
    return true;
  }
  if (!is_armed.load(std::memory_order_relaxed)) return false;
  const long number = seen.fetch_add(1);
  const long first = first_to_refuse.load();
  if (first < 0 || number < first || (number > first && !refuses_onwards.load())) return false;
  ++refused_by_kind[static_cast<int>(request)];
  return true;
}

template <class Function>
Function next(Function, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

namespace runtime_test {

void refuse_threads(bool refuse) { threads_refused = refuse; }

void fail_allocation_after(long count) {
  if (count >= 0) failures = 0;
  allocations_left = count;
}

long failed_allocations() { return failures; }

void inject(const Injection& injection) {
  seen = 0;
  for (std::atomic<long>& count : refused_by_kind) count = 0;
  first_to_refuse = injection.first;
  refuses_onwards = injection.onwards;
}

void refuse_again(long first) { first_to_refuse = first; }
void stop_refusing() { first_to_refuse = -1; }
long first_refused() { return first_to_refuse; }

void arm(bool armed) { is_armed = armed; }

long requests() { return seen; }
long refused(Request request) { return refused_by_kind[static_cast<int>(request)]; }
long refused() {
  long sum = 0;
  for (const std::atomic<long>& count : refused_by_kind) sum += count;
  return sum;
}

Held held() { return {live_allocations, live_mapped, live_files}; }

}  // namespace runtime_test

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) {
  if (threads_refused || refuse(Request::thread)) return EAGAIN;
  static const auto real = next(&pthread_create, "pthread_create");
  return real(thread, attributes, start, argument);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

// Sanitizers own malloc. Their hooks for malloc's family also report C++ allocations.
namespace {

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (refuse(Request::memory)) return nullptr;
  return std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

constexpr std::size_t kPlain = alignof(std::max_align_t);

}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, kPlain); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, kPlain); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, kPlain); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, kPlain); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#else

// glibc provides its own allocator under these names. operator new of libstdc++, fopen, thread creation and
// the loader's thread-local storage all use malloc's family, and so these functions.
extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

static void* counted(void* memory) {
  if (memory != nullptr) live_allocations.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

static bool no_memory() {
  if (!refuse(Request::memory)) return false;
  errno = ENOMEM;
  return true;
}

void* malloc(std::size_t bytes) { return no_memory() ? nullptr : counted(__libc_malloc(bytes)); }
void* calloc(std::size_t count, std::size_t bytes) {
  return no_memory() ? nullptr : counted(__libc_calloc(count, bytes));
}
void* realloc(void* memory, std::size_t bytes) {
  if (no_memory()) return nullptr;
  void* const moved = __libc_realloc(memory, bytes);
  if (memory == nullptr && moved != nullptr) ++live_allocations;
  if (memory != nullptr && bytes == 0) --live_allocations;
  return moved;
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  return no_memory() ? nullptr : counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  void* const made = memalign(alignment, bytes);
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}
void free(void* memory) {
  if (memory != nullptr) live_allocations.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(memory);
}

void* mmap(void* address, std::size_t bytes, int access, int flags, int file, off_t offset) {
  if (refuse(Request::mapping)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  // The system call itself: dlsym may allocate, and thus call this function again.
  void* const made = reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, access, flags, file, offset));
  if (made != MAP_FAILED && (flags & MAP_FIXED) == 0) live_mapped += static_cast<long>(bytes);
  return made;
}
int munmap(void* address, std::size_t bytes) {
  const int failed = static_cast<int>(syscall(SYS_munmap, address, bytes));
  if (failed == 0) live_mapped -= static_cast<long>(bytes);
  return failed;
}

static bool no_file() {
  if (!refuse(Request::file)) return false;
  errno = EMFILE;
  return true;
}

std::FILE* fopen(const char* path, const char* mode) {
  if (no_file()) return nullptr;
  static const auto real = next(&fopen, "fopen");
  std::FILE* const file = real(path, mode);
  if (file != nullptr) ++live_files;
  return file;
}
int fclose(std::FILE* file) {
  static const auto real = next(&fclose, "fclose");
  --live_files;
  return real(file);
}
int open(const char* path, int flags, ...) {
  if (no_file()) return -1;
  va_list arguments;
  va_start(arguments, flags);
  const auto rights = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : mode_t{0};
  va_end(arguments);
  const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, rights));
  if (file >= 0) ++live_files;
  return file;
}
ssize_t read(int file, void* bytes, std::size_t count) {
  if (is_armed.load(std::memory_order_relaxed) && refuse(Request::file)) {
    errno = EIO;
    return -1;
  }
  return syscall(SYS_read, file, bytes, count);
}
int close(int file) {
  --live_files;
  return static_cast<int>(syscall(SYS_close, file));
}

}  // extern "C"

#endif
