// SPDX-License-Identifier: Apache-2.0
#include "machine/keep_denormals.hpp"

#include <omp.h>

#include <cstddef>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace halocline::machine {
namespace {

// The bits of the state that let denormal numbers be 0, and the state itself.
#if defined(__SSE2__)
constexpr unsigned flushes = 1u << 15 | 1u << 6;  // as results, as operands
unsigned state() { return _mm_getcsr(); }
void set(unsigned state) { _mm_setcsr(state); }
#elif defined(__aarch64__)
constexpr unsigned flushes = 1u << 24;
unsigned state() {
  unsigned long all;
  asm volatile("mrs %0, fpcr" : "=r"(all));
  return static_cast<unsigned>(all);
}
void set(unsigned state) { asm volatile("msr fpcr, %0" ::"r"(static_cast<unsigned long>(state))); }
#else
constexpr unsigned flushes = 0;
unsigned state() { return 0; }
void set(unsigned) {}
#endif

}  // namespace

KeepDenormals::KeepDenormals(int threads) : flushed_(static_cast<std::size_t>(threads)) {
#pragma omp parallel num_threads(threads)
  {
    const unsigned before = state();
    flushed_[static_cast<std::size_t>(omp_get_thread_num())] = before & flushes;
    if ((before & flushes) != 0) set(before & ~flushes);
  }
}

KeepDenormals::~KeepDenormals() {
  const auto threads = static_cast<int>(flushed_.size());
#pragma omp parallel num_threads(threads)
  if (const unsigned bits = flushed_[static_cast<std::size_t>(omp_get_thread_num())]; bits != 0)
    set(state() | bits);
}

}  // namespace halocline::machine
