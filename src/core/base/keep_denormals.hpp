// SPDX-License-Identifier: Apache-2.0
#pragma once
// Libraries that were built with -ffast-math have the processor take denormal numbers for 0, on the
// thread that loads them and on those that it starts: a Python module is enough.

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace halocline {

/// While it lives, this thread computes with denormal numbers; then as before. Takes some
/// nanoseconds. Does nothing on processors other than x86-64 and AArch64.
class KeepDenormals {
 public:
  KeepDenormals() : before_(state()) {
    if ((before_ & flushes) != 0) set(before_ & ~flushes);
  }
  ~KeepDenormals() {
    if ((before_ & flushes) != 0) set(state() | (before_ & flushes));
  }
  KeepDenormals(const KeepDenormals&) = delete;
  KeepDenormals& operator=(const KeepDenormals&) = delete;

 private:
#if defined(__SSE2__)
  using State = unsigned;
  static constexpr State flushes = 1u << 15 | 1u << 6;  // results, and operands
  static State state() { return _mm_getcsr(); }
  static void set(State state) { _mm_setcsr(state); }
#elif defined(__aarch64__)
  using State = unsigned long;
  static constexpr State flushes = 1ul << 24;
  static State state() {
    State state;
    asm volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void set(State state) { asm volatile("msr fpcr, %0" ::"r"(state)); }
#else
  using State = unsigned;
  static constexpr State flushes = 0;
  static State state() { return 0; }
  static void set(State) {}
#endif

  State before_;
};

}  // namespace halocline
