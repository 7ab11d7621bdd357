// SPDX-License-Identifier: Apache-2.0
#pragma once
// CUDA's built-in device functions.

#include <math.h>  // libstdc++'s, with the float overloads that CUDA has in the global namespace

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "threads.hpp"

namespace cuda_on_cpu {

template <class T, class... Any>
concept one_of = (std::same_as<T, Any> || ...);

template <class T>
concept shuffled =
    one_of<T, int, unsigned, long, unsigned long, long long, unsigned long long, float, double>;

template <class T>
std::uint64_t to_bits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// The lanes that a shuffle of this width keeps together: first of them, and one past the last.
struct Segment {
  int begin, end;
};
inline Segment segment(int width) {
  if (width < 1 || width > warpSize || !std::has_single_bit(static_cast<unsigned>(width))) {
    fatal("the width of a shuffle is not 1, 2, 4, 8, 16 or 32");
  }
  const int begin = lane() & ~(width - 1);
  return {begin, begin + width};
}

template <class T>
T shuffle(LaneOp op, unsigned mask, T value, int source, Where where) {
  return from_bits<T>(meet_lanes({op, mask, to_bits(value), source}, where));
}

/// Ends the program where a GPU would report cudaErrorMisalignedAddress.
template <class T>
void check_aligned(const T* pointer) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % sizeof(T) != 0) fatal("misaligned address");
}
/// Every scope is that of the system; but it must be one.
inline void check_scope(int scope) {
  if (scope < 0 || scope > 4) fatal("a scope that is none of __NV_THREAD_SCOPE_*");
}
template <class T>
T load(const T* from) {
  check_aligned(from);
  return *from;
}
template <class T>
void store(T* to, std::type_identity_t<T> value) {
  check_aligned(to);
  *to = value;
}

/// Replaces what is there by change(what is there); returns what was there.
template <class T, class Change>
T atomic_change(T* address, Change&& change) {
  check_aligned(address);
  std::atomic_ref<T> target(*address);
  T old = target.load(std::memory_order_relaxed);
  while (!target.compare_exchange_weak(old, change(old), std::memory_order_relaxed)) {
  }
  return old;
}

inline void fence() {
#if defined(__SANITIZE_THREAD__)  // which does not understand fences
  static std::atomic<int> any = 0;
  any.fetch_add(0, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// What CUDA's globaltimer counts: the same for all processes of a machine.
inline std::uint64_t global_nanoseconds() {
  using namespace std::chrono;
  const auto now = steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(duration_cast<nanoseconds>(now).count());
}

}  // namespace cuda_on_cpu

// ---- meetings

inline void __syncthreads(cuda_on_cpu::Where where = cuda_on_cpu::Where::here()) {
  cuda_on_cpu::meet_block(cuda_on_cpu::BlockOp::sync, false, where);
}
inline int __syncthreads_or(int predicate, cuda_on_cpu::Where where = cuda_on_cpu::Where::here()) {
  return cuda_on_cpu::meet_block(cuda_on_cpu::BlockOp::sync_or, predicate != 0, where);
}
inline int __syncthreads_and(int predicate, cuda_on_cpu::Where where = cuda_on_cpu::Where::here()) {
  return cuda_on_cpu::meet_block(cuda_on_cpu::BlockOp::sync_and, predicate != 0, where);
}
inline int __syncthreads_count(int predicate,
                               cuda_on_cpu::Where where = cuda_on_cpu::Where::here()) {
  return cuda_on_cpu::meet_block(cuda_on_cpu::BlockOp::sync_count, predicate != 0, where);
}
inline void __syncwarp(unsigned mask = 0xffffffffu,
                       cuda_on_cpu::Where where = cuda_on_cpu::Where::here()) {
  cuda_on_cpu::meet_lanes({cuda_on_cpu::LaneOp::syncwarp, mask}, where);
}

template <cuda_on_cpu::shuffled T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize,
              cuda_on_cpu::Where where = cuda_on_cpu::Where::here()) {
  const int from = cuda_on_cpu::segment(width).begin + (source & (width - 1));
  return cuda_on_cpu::shuffle(cuda_on_cpu::LaneOp::shfl, mask, value, from, where);
}
template <cuda_on_cpu::shuffled T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                 cuda_on_cpu::Where where = cuda_on_cpu::Where::here()) {
  const int lane = cuda_on_cpu::lane(), from = lane - static_cast<int>(delta & 31u);
  const int source = from >= cuda_on_cpu::segment(width).begin ? from : lane;
  return cuda_on_cpu::shuffle(cuda_on_cpu::LaneOp::shfl_up, mask, value, source, where);
}
template <cuda_on_cpu::shuffled T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                   cuda_on_cpu::Where where = cuda_on_cpu::Where::here()) {
  const int lane = cuda_on_cpu::lane(), from = lane + static_cast<int>(delta & 31u);
  const int source = from < cuda_on_cpu::segment(width).end ? from : lane;
  return cuda_on_cpu::shuffle(cuda_on_cpu::LaneOp::shfl_down, mask, value, source, where);
}
// Lanes of earlier segments can be read, those of later ones cannot (CUDA C++ Programming Guide).
template <cuda_on_cpu::shuffled T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize,
                  cuda_on_cpu::Where where = cuda_on_cpu::Where::here()) {
  const int lane = cuda_on_cpu::lane(), from = lane ^ (lane_mask & 31);
  const int source = from < cuda_on_cpu::segment(width).end ? from : lane;
  return cuda_on_cpu::shuffle(cuda_on_cpu::LaneOp::shfl_xor, mask, value, source, where);
}

inline unsigned __ballot_sync(unsigned mask, int predicate,
                              cuda_on_cpu::Where where = cuda_on_cpu::Where::here()) {
  return static_cast<unsigned>(cuda_on_cpu::meet_lanes(
      {cuda_on_cpu::LaneOp::ballot, mask, static_cast<std::uint64_t>(predicate != 0)}, where));
}
inline int __any_sync(unsigned mask, int predicate,
                      cuda_on_cpu::Where where = cuda_on_cpu::Where::here()) {
  return cuda_on_cpu::meet_lanes(
             {cuda_on_cpu::LaneOp::any, mask, static_cast<std::uint64_t>(predicate != 0)}, where) !=
         0;
}
inline int __all_sync(unsigned mask, int predicate,
                      cuda_on_cpu::Where where = cuda_on_cpu::Where::here()) {
  return cuda_on_cpu::meet_lanes(
             {cuda_on_cpu::LaneOp::all, mask, static_cast<std::uint64_t>(predicate != 0)}, where) ==
         mask;
}
/// Only the caller: CUDA promises no more than that it is among the active ones.
inline unsigned __activemask() { return 1u << cuda_on_cpu::lane(); }

// ---- loads and stores with cache hints

// clang-format off
template <class T> T __ldg(const T* from) { return cuda_on_cpu::load(from); }
template <class T> T __ldca(const T* from) { return cuda_on_cpu::load(from); }
template <class T> T __ldcg(const T* from) { return cuda_on_cpu::load(from); }
template <class T> T __ldcs(const T* from) { return cuda_on_cpu::load(from); }
template <class T> T __ldlu(const T* from) { return cuda_on_cpu::load(from); }
template <class T> T __ldcv(const T* from) { return cuda_on_cpu::load(from); }
template <class T> void __stwb(T* to, std::type_identity_t<T> value) { cuda_on_cpu::store(to, value); }
template <class T> void __stcg(T* to, std::type_identity_t<T> value) { cuda_on_cpu::store(to, value); }
template <class T> void __stcs(T* to, std::type_identity_t<T> value) { cuda_on_cpu::store(to, value); }
template <class T> void __stwt(T* to, std::type_identity_t<T> value) { cuda_on_cpu::store(to, value); }
// clang-format on

// ---- atomics: real ones, since the host or another process may look at the same memory

template <cuda_on_cpu::one_of<int, unsigned, unsigned long long, float, double> T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return cuda_on_cpu::atomic_change(address, [=](T old) {
    if constexpr (std::same_as<T, int>) {  // wraps around
      return static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value));
    } else {
      return old + value;
    }
  });
}
template <cuda_on_cpu::one_of<int, unsigned, unsigned long long, long long> T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return cuda_on_cpu::atomic_change(address, [=](T old) { return old < value ? value : old; });
}
template <cuda_on_cpu::one_of<int, unsigned, unsigned long long, long long> T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return cuda_on_cpu::atomic_change(address, [=](T old) { return value < old ? value : old; });
}
template <cuda_on_cpu::one_of<int, unsigned, unsigned long long> T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
  return cuda_on_cpu::atomic_change(address, [=](T old) { return old & value; });
}
template <cuda_on_cpu::one_of<int, unsigned, unsigned long long> T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return cuda_on_cpu::atomic_change(address, [=](T old) { return old | value; });
}
template <cuda_on_cpu::one_of<int, unsigned, unsigned long long, float> T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return cuda_on_cpu::atomic_change(address, [=](T) { return value; });
}
template <cuda_on_cpu::one_of<int, unsigned, unsigned long long> T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  return cuda_on_cpu::atomic_change(address, [=](T old) { return old == compare ? value : old; });
}
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return cuda_on_cpu::atomic_change(address,
                                    [=](unsigned old) { return old >= limit ? 0u : old + 1u; });
}
inline unsigned atomicDec(unsigned* address, unsigned limit) {
  return cuda_on_cpu::atomic_change(
      address, [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1u; });
}

enum {
  __NV_ATOMIC_RELAXED,
  __NV_ATOMIC_CONSUME,
  __NV_ATOMIC_ACQUIRE,
  __NV_ATOMIC_RELEASE,
  __NV_ATOMIC_ACQ_REL,
  __NV_ATOMIC_SEQ_CST
};
enum {
  __NV_THREAD_SCOPE_THREAD,
  __NV_THREAD_SCOPE_BLOCK,
  __NV_THREAD_SCOPE_CLUSTER,
  __NV_THREAD_SCOPE_DEVICE,
  __NV_THREAD_SCOPE_SYSTEM
};

template <class T>
T __nv_atomic_load_n(const T* from, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  cuda_on_cpu::check_aligned(from);
  cuda_on_cpu::check_scope(scope);
  const std::atomic_ref<T> source(*const_cast<T*>(from));
  switch (order) {
    case __NV_ATOMIC_RELAXED:
      return source.load(std::memory_order_relaxed);
    case __NV_ATOMIC_CONSUME:
    case __NV_ATOMIC_ACQUIRE:
      return source.load(std::memory_order_acquire);
    case __NV_ATOMIC_SEQ_CST:
      return source.load(std::memory_order_seq_cst);
    default:
      cuda_on_cpu::fatal("__nv_atomic_load_n of an order that is not one of a load");
  }
}
template <class T>
void __nv_atomic_store_n(T* to, std::type_identity_t<T> value, int order,
                         int scope = __NV_THREAD_SCOPE_SYSTEM) {
  cuda_on_cpu::check_aligned(to);
  cuda_on_cpu::check_scope(scope);
  const std::atomic_ref<T> target(*to);
  switch (order) {
    case __NV_ATOMIC_RELAXED:
      return target.store(value, std::memory_order_relaxed);
    case __NV_ATOMIC_RELEASE:
      return target.store(value, std::memory_order_release);
    case __NV_ATOMIC_SEQ_CST:
      return target.store(value, std::memory_order_seq_cst);
    default:
      cuda_on_cpu::fatal("__nv_atomic_store_n of an order that is not one of a store");
  }
}

inline void __threadfence() { cuda_on_cpu::fence(); }
inline void __threadfence_block() { cuda_on_cpu::fence(); }
inline void __threadfence_system() { cuda_on_cpu::fence(); }

// ---- bits, arithmetic, time

inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }

inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __popcll(unsigned long long bits) { return std::popcount(bits); }
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
inline int __ffs(int bits) { return bits ? std::countr_zero(static_cast<unsigned>(bits)) + 1 : 0; }

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float value) { return std::sqrt(value); }
inline double __dsqrt_rn(double value) { return std::sqrt(value); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }

inline void __nanosleep(unsigned nanoseconds) { cuda_on_cpu::pause(nanoseconds); }
inline long long clock64() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
[[noreturn]] inline void __trap() { cuda_on_cpu::fatal("__trap()"); }
