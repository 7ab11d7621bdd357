#pragma once
// Flags between GPUs, in kernels: release and acquire at system scope, and waits that end.
//
// Compiles with nvcc and with NVRTC, so nothing of the standard library is included.

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif

#include "device/watch.hpp"

namespace halocline::device::cuda {

/// Makes what this thread has stored, and what it knows others to have stored (a barrier of the
/// block, an earlier kernel), visible to whoever then sees the flag at `epoch`.
__device__ inline void raise(Epoch* flag, Epoch epoch) {
  __nv_atomic_store_n(flag, epoch, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
}

__device__ inline bool reached(const Epoch* flag, Epoch epoch) {
  // The builtin takes no const.
  return __nv_atomic_load_n(const_cast<Epoch*>(flag), __NV_ATOMIC_ACQUIRE,
                            __NV_THREAD_SCOPE_SYSTEM) >= epoch;
}

__device__ inline unsigned long long nanoseconds() {
#ifdef CUDA_ON_CPU
  return cuda_on_cpu::global_nanoseconds();
#else
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#endif
}

/// Tells the host of a wait that took too long, and all other waits to end.
__device__ inline void give_up(const Watch& watch, int message, Epoch epoch) {
  // The first one is told of.
  if (atomicExch(watch.gave_up, 1u) != 0) return;
  watch.overdue->message = message;
  watch.overdue->epoch = epoch;
  __threadfence_system();
  *const_cast<volatile unsigned*>(&watch.overdue->is_set) = 1;
}

/// One thread waits until a flag has reached `epoch`; false if that took too long. What was stored
/// before the flag was raised is then visible to it, and to its block after a barrier. `watch` may
/// be null where nothing can be missing.
__device__ inline bool await(const Epoch* flag, Epoch epoch, const Watch* watch, int message) {
  // A flag is on its way for some 0.6 us. Looking at the clock takes as long as several polls.
  constexpr int polls_between_looks = 64;
  unsigned long long since = 0;
  for (int poll = 1; !reached(flag, epoch); ++poll) {
    __nanosleep(20);
    if (watch == nullptr || poll % polls_between_looks != 0) continue;
    if (*const_cast<volatile unsigned*>(watch->gave_up) != 0) return false;
    const unsigned long long now = nanoseconds();
    if (since == 0) since = now;
    if (watch->limit_ns == 0 || now - since < watch->limit_ns) continue;
    give_up(*watch, message, epoch);
    return false;
  }
  return true;
}

}  // namespace halocline::device::cuda
