// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words that carry a value and its epoch, in kernels: see device/edge_port.hpp.
//
// Compiles with nvcc and with NVRTC, so nothing of the standard library is included.

#include "device/cuda/flags.cuh"
#include "device/edge_port.hpp"

namespace halocline::device::cuda {

using device::EdgeWord;

__device__ inline EdgeWord word_of(unsigned bits, unsigned epoch) {
  return static_cast<EdgeWord>(epoch) << 32 | bits;
}
/// The epochs of words that differ from this one, in their bits: zero if none does.
__device__ inline unsigned unlike(EdgeWord word, unsigned epoch) {
  return static_cast<unsigned>(word >> 32) ^ epoch;
}
__device__ inline unsigned unlike(const EdgeWords& words, unsigned epoch) {
  return unlike(words.first, epoch) | unlike(words.second, epoch);
}

/// A number as two words.
__device__ inline EdgeWords words_of(double number, unsigned epoch) {
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(number));
  return {word_of(static_cast<unsigned>(bits), epoch),
          word_of(static_cast<unsigned>(bits >> 32), epoch)};
}
__device__ inline double number_of(const EdgeWords& words) {
  return __longlong_as_double(
      static_cast<long long>(words.second << 32 | (words.first & 0xffffffffull)));
}

// Each word is stored and loaded whole, bypassing the first-level cache, unordered with others.

__device__ inline void send(EdgeWord* to, EdgeWord word) {
  __nv_atomic_store_n(to, word, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM);
}
__device__ inline EdgeWord look(const EdgeWord* from) {
  return __nv_atomic_load_n(const_cast<EdgeWord*>(from), __NV_ATOMIC_RELAXED,
                            __NV_THREAD_SCOPE_SYSTEM);
}

__device__ inline void send(EdgeWords* to, const EdgeWords& words) {
#ifdef CUDA_ON_CPU
  send(&to->first, words.first);
  send(&to->second, words.second);
#else
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(words.first),
               "l"(words.second)
               : "memory");
#endif
}
__device__ inline EdgeWords look(const EdgeWords* from) {
  EdgeWords words;
#ifdef CUDA_ON_CPU
  words = {look(&from->first), look(&from->second)};
#else
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(words.first), "=l"(words.second)
               : "l"(from)
               : "memory");
#endif
  return words;
}

/// Loads words unless `from` is null. Without a branch: the loads of several edges are in flight at
/// once, where the compiler would test the words of each before the load of the next.
__device__ inline void look_unless_null(const EdgeWords* from, EdgeWords& words) {
#ifdef CUDA_ON_CPU
  if (from != nullptr) words = look(from);
#else
  asm volatile(
      "{ .reg .pred given; setp.ne.u64 given, %2, 0;"
      " @given ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2]; }"
      : "+l"(words.first), "+l"(words.second)
      : "l"(from)
      : "memory");
#endif
}
__device__ inline void look_unless_null(const EdgeWord* from, EdgeWord& word) {
#ifdef CUDA_ON_CPU
  if (from != nullptr) word = look(from);
#else
  asm volatile(
      "{ .reg .pred given; setp.ne.u64 given, %1, 0;"
      " @given ld.relaxed.sys.global.u64 %0, [%1]; }"
      : "+l"(word)
      : "l"(from)
      : "memory");
#endif
}

/// Pauses between two polls. A poll takes some 0.3 us by itself; threads on a CPU must yield.
__device__ inline void between_looks() {
#ifdef CUDA_ON_CPU
  __nanosleep(20);
#endif
}

/// One word or two of an edge, which a thread waits for together with others: one look after the
/// other would take a trip through the memory each. Until all have come, all are loaded again:
/// they stay until this thread has sent its own.
template <class Words>
class Awaited {
 public:
  Awaited() = default;
  /// Null: there is nothing to wait for.
  __device__ Awaited(const Words* from, unsigned epoch) : from_(from) { preset(words_, epoch); }
  __device__ void load() { look_unless_null(from_, words_); }
  /// Zero if the words loaded last are of the epoch. Tests of several, joined without branches, are
  /// done after all loads.
  __device__ unsigned missing(unsigned epoch) const { return unlike(words_, epoch); }
  __device__ const Words& words() const { return words_; }

 private:
  static __device__ void preset(EdgeWord& word, unsigned epoch) { word = word_of(0, epoch); }
  static __device__ void preset(EdgeWords& words, unsigned epoch) {
    words = {word_of(0, epoch), word_of(0, epoch)};
  }

  const Words* from_ = nullptr;
  Words words_{};
};

/// Waits, in one thread, for one or two words of `epoch`; sets `came` to false if that takes too
/// long.
template <class Words>
__device__ Words await_words(const Words* from, unsigned epoch, Patience patience, bool& came) {
  for (;;) {
    const Words words = look(from);
    if (unlike(words, epoch) == 0) return words;
    between_looks();
    if (patience.lasts(epoch)) continue;
    came = false;
    return words;
  }
}

}  // namespace halocline::device::cuda
