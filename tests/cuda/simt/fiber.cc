// Fibers: switches stacks in a few instructions, and reports that to the sanitizers.
#include "cuda/simt/fiber.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// Saves the registers that a call preserves on the current stack, stores the stack's address in *own, and
// continues with the registers saved at `other`. ucontext would make two system calls per switch.
extern "C" void openaclnn_simt_switch(void** own, void* other);
#if defined(__x86_64__)
asm(R"(
.text
.local openaclnn_simt_switch
.type openaclnn_simt_switch, @function
openaclnn_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size openaclnn_simt_switch, . - openaclnn_simt_switch
)");
constexpr size_t kSavedWords = 8, kReturnWord = 6;  // the last one keeps the stack aligned as after a call
#elif defined(__aarch64__)
asm(R"(
.macro openaclnn_simt_registers each
  \each x19, x20, [sp]
  \each x21, x22, [sp, #16]
  \each x23, x24, [sp, #32]
  \each x25, x26, [sp, #48]
  \each x27, x28, [sp, #64]
  \each x29, x30, [sp, #80]
  \each d8, d9, [sp, #96]
  \each d10, d11, [sp, #112]
  \each d12, d13, [sp, #128]
  \each d14, d15, [sp, #144]
.endm
.text
.local openaclnn_simt_switch
.type openaclnn_simt_switch, %function
openaclnn_simt_switch:
  sub sp, sp, #160
  openaclnn_simt_registers stp
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  openaclnn_simt_registers ldp
  add sp, sp, #160
  ret
.size openaclnn_simt_switch, . - openaclnn_simt_switch
)");
constexpr size_t kSavedWords = 20, kReturnWord = 11;
#else
#error "the emulation knows how to switch stacks on x86-64 and AArch64"
#endif

namespace openaclnn::simt {

namespace {

constexpr size_t kGuardBytes = 4096;

#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kStackBytes = size_t{256} << 10;  // sanitized frames are larger
void before_switch(void** own_fake_stack, const void* bottom, size_t size) {
  __sanitizer_start_switch_fiber(own_fake_stack, bottom, size);
}
void after_switch(void* own_fake_stack, const void** from_bottom, size_t* from_size) {
  __sanitizer_finish_switch_fiber(own_fake_stack, from_bottom, from_size);
}
#else
constexpr size_t kStackBytes = size_t{64} << 10;
void before_switch(void**, const void*, size_t) {}
void after_switch(void*, const void**, size_t*) {}
#endif

thread_local Fiber* entered = nullptr;

}  // namespace

Fiber::Fiber(void (*run)(Fiber& self)) : run_(run) {
  memory_ = mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory_ == MAP_FAILED || mprotect(memory_, kGuardBytes, PROT_NONE) != 0) {
    std::fputs("openaclnn SIMT emulation: no memory for the stack of a thread\n", stderr);
    std::abort();
  }
  // As if main() were about to run its first instruction.
  char* const end = static_cast<char*>(memory_) + kGuardBytes + kStackBytes;
  void** const saved = reinterpret_cast<void**>(end) - kSavedWords;
  saved[kReturnWord] = reinterpret_cast<void*>(main);
  inside_ = saved;
}

Fiber::~Fiber() {
#if defined(__SANITIZE_ADDRESS__)
  // Marks of frames that were never left would otherwise apply to the next mapping at this address.
  __asan_unpoison_memory_region(memory_, kStackBytes + kGuardBytes);
#endif
  munmap(memory_, kStackBytes + kGuardBytes);
}

void Fiber::main() {
  Fiber* const self = entered;
  after_switch(nullptr, &self->callers_stack_, &self->callers_stack_bytes_);
  self->run_(*self);
}

void Fiber::enter() {
  entered = this;
  before_switch(&callers_fake_stack_, static_cast<char*>(memory_) + kGuardBytes, kStackBytes);
  race_context_.enter();
  openaclnn_simt_switch(&outside_, inside_);
  after_switch(callers_fake_stack_, nullptr, nullptr);
}

void Fiber::leave() {
  before_switch(&fake_stack_, callers_stack_, callers_stack_bytes_);
  race_context_.leave();
  openaclnn_simt_switch(&inside_, outside_);
  after_switch(fake_stack_, &callers_stack_, &callers_stack_bytes_);
}

}  // namespace openaclnn::simt
