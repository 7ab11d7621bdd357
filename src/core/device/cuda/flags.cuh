// SPDX-License-Identifier: Apache-2.0
#pragma once
// Flags between GPUs, in kernels: release and acquire at system scope, and waits with a limit.
//
// Compiles with nvcc and with NVRTC, so nothing of the standard library is included.

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif

#include "device/watch.hpp"

namespace halocline::device::cuda {

/// Raises the flag to `epoch`. Threads that see it at `epoch` also see all stores of this thread,
/// and those ordered before them (by a barrier of the block, an earlier kernel).
__device__ inline void raise(Epoch* flag, Epoch epoch) {
  __nv_atomic_store_n(flag, epoch, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
}

__device__ inline bool reached(const Epoch* flag, Epoch epoch) {
  // The builtin does not accept const.
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

/// Reports a wait that took too long to the host, and ends all other waits.
__device__ inline void give_up(const Watch& watch, int message, Epoch epoch) {
  // Only the first one is reported.
  if (atomicExch(watch.gave_up, 1u) != 0) return;
  watch.overdue->message = message;
  watch.overdue->epoch = epoch;
  __threadfence_system();
  *const_cast<volatile unsigned*>(&watch.overdue->is_set) = 1;
}

/// The limit of a thread's wait for a neighbour. `watch` may be null if no message can be missing.
class Patience {
 public:
  /// `message` names the message waited for. Below zero: a wait within this GPU, which depends on
  /// another wait of its own; it ends with the others and is not reported.
  __device__ Patience(const Watch* watch, int message) : watch_(watch), message_(message) {}

  /// Call it after a poll that failed; returns false if the wait takes too long.
  __device__ bool lasts(Epoch epoch) { return lasts(epoch, message_); }
  /// The same where several messages are waited for, and this one is still missing.
  __device__ bool lasts(Epoch epoch, int message) {
    // A flag takes some 0.6 us to arrive. Reading the clock takes as long as several polls.
    constexpr int polls_between_looks = 64;
    if (watch_ == nullptr || ++polls_ % polls_between_looks != 0) return true;
    if (*const_cast<volatile unsigned*>(watch_->gave_up) != 0) return false;
    if (message < 0) return true;
    const unsigned long long now = nanoseconds();
    if (since_ == 0) since_ = now;
    if (watch_->limit_ns == 0 || now - since_ < watch_->limit_ns) return true;
    give_up(*watch_, message, epoch);
    return false;
  }

 private:
  const Watch* watch_;
  int message_, polls_ = 0;
  unsigned long long since_ = 0;
};

/// Waits, in one thread, until a flag has reached `epoch`; returns false if that takes too long.
/// All stores before the raising of the flag are then visible to this thread, and to its block
/// after a barrier. `watch` may be null if no message can be missing.
__device__ inline bool await(const Epoch* flag, Epoch epoch, const Watch* watch, int message) {
  Patience patience(watch, message);
  while (!reached(flag, epoch)) {
    __nanosleep(20);
    if (!patience.lasts(epoch)) return false;
  }
  return true;
}

}  // namespace halocline::device::cuda
