// SPDX-License-Identifier: Apache-2.0
#include "fibers.hpp"

#include <unistd.h>

#include <cstdint>

#include <sys/mman.h>

#include "cuda_on_cpu/threads.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace cuda_on_cpu {
namespace {

// Sanitizers pad every local array, so that frames grow several times.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kStackBytes = 512 * 1024;
#else
constexpr std::size_t kStackBytes = 128 * 1024;
#endif

// Who was left and who is entered by the hand-over in progress.
thread_local Fiber* left = nullptr;
thread_local Fiber* entered = nullptr;

/// Returns the lowest address of a new stack; below it lies a page that cannot be touched.
std::byte* new_stack() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, page + kStackBytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) fatal("no memory for the stack of a thread");
  auto* stack = static_cast<std::byte*>(memory) + page;
  if (mprotect(stack, kStackBytes, PROT_READ | PROT_WRITE) != 0)
    fatal("mprotect of a stack failed");
  return stack;
}

#if defined(__SANITIZE_THREAD__)
void* running_twin() { return __tsan_get_current_fiber(); }
void* new_twin() { return __tsan_create_fiber(0); }
void end_twin(void* twin) { __tsan_destroy_fiber(twin); }
#else
void* running_twin() { return nullptr; }
void* new_twin() { return nullptr; }
void end_twin(void*) {}
#endif

}  // namespace

#if !CUDA_ON_CPU_HAS_UCONTEXT
// swapcontext() calls the kernel twice to keep the signal mask, 20 times the cost of this. What a
// function must preserve is pushed; the rest the compiler has saved around the call. The control
// words of the floating-point unit are the same on all fibers.
extern "C" void cuda_on_cpu_swap(void** save_top, void* load_top);
asm(R"(
.text
.globl cuda_on_cpu_swap
.hidden cuda_on_cpu_swap
.type cuda_on_cpu_swap, @function
cuda_on_cpu_swap:
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
.size cuda_on_cpu_swap, .-cuda_on_cpu_swap
)");
#endif

Fiber::Fiber() : twin_(running_twin()) {}

Fiber::Fiber(void (*main)()) : main_(main), stack_bytes_(kStackBytes), twin_(new_twin()) {
  std::byte* stack = new_stack();
  stack_ = bottom_ = stack;
#if CUDA_ON_CPU_HAS_UCONTEXT
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack;
  context_.uc_stack.ss_size = kStackBytes;
  context_.uc_link = nullptr;
  makecontext(&context_, &Fiber::begin, 0);
#else
  // As if cuda_on_cpu_swap had been called at the very start of begin(): six registers, the place
  // to go on, and a null return address, which aligns the stack as after a call.
  auto* words = reinterpret_cast<std::uintptr_t*>(stack + kStackBytes);
  words[-1] = 0;
  words[-2] = reinterpret_cast<std::uintptr_t>(&Fiber::begin);
  for (int i = 3; i <= 8; ++i) words[-i] = 0;
  top_ = words - 8;
#endif
}

Fiber::~Fiber() {
  if (!main_) return;
  end_twin(twin_);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(bottom_, kStackBytes);
#endif
  munmap(bottom_ - page, page + kStackBytes);
}

void Fiber::begin() {
  entered->arrive();
  entered->main_();
}

// The first thing on the stack that is entered.
void Fiber::arrive() {
#if defined(__SANITIZE_ADDRESS__)
  // The host's stack is known only from here.
  __sanitizer_finish_switch_fiber(fake_stack_, &left->stack_, &left->stack_bytes_);
#endif
}

void hand_over(Fiber& from, Fiber& to) {
  left = &from;
  entered = &to;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.stack_, to.stack_bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.twin_, 0);
#endif
#if CUDA_ON_CPU_HAS_UCONTEXT
  swapcontext(&from.context_, &to.context_);
#else
  cuda_on_cpu_swap(&from.top_, to.top_);
#endif
  from.arrive();
}

}  // namespace cuda_on_cpu
