// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stacks that hand the processor to each other: the threads of a block run on them.

#include <cstddef>

#if !defined(__x86_64__) || defined(CUDA_ON_CPU_UCONTEXT)
#define CUDA_ON_CPU_HAS_UCONTEXT 1
#include <ucontext.h>
#else
#define CUDA_ON_CPU_HAS_UCONTEXT 0
#endif

namespace cuda_on_cpu {

/// A stack and the place where it was left. A fiber stays on the thread that made it.
class Fiber {
 public:
  /// Stands for the stack that is running now.
  Fiber();
  /// Begins with `main`, which must never return.
  explicit Fiber(void (*main)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Leaves the running fiber, which must be `from`, for `to`.
  friend void hand_over(Fiber& from, Fiber& to);

 private:
  static void begin();
  void arrive();

  void (*main_)() = nullptr;
  std::byte* bottom_ = nullptr;  // of the stack, if it is this fiber's own
  const void* stack_ = nullptr;  // its lowest address
  std::size_t stack_bytes_ = 0;
  [[maybe_unused]] void* fake_stack_ = nullptr;  // of the address sanitizer
  [[maybe_unused]] void* twin_;                  // what the thread sanitizer knows it by
#if CUDA_ON_CPU_HAS_UCONTEXT
  ucontext_t context_;
#else
  void* top_ = nullptr;
#endif
};

void hand_over(Fiber& from, Fiber& to);

}  // namespace cuda_on_cpu
