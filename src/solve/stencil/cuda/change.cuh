// SPDX-License-Identifier: Apache-2.0
#pragma once
// Norms of the update, taken inside the sweep: one value per thread, then one per block, which is
// left for a later launch to reduce. So nothing waits at the end of a sweep: there the last block
// to come added 5 us to one of 2048x2048 cells, and 9 to one of 16384x16384.
//
// Compiles with nvcc and with NVRTC, so nothing of the standard library is included.

#include "stencil/cuda/work.cuh"

namespace halocline::stencil::cuda {

/// The larger one, or what is not a number.
__device__ inline double larger(double a, double b) { return !(a >= b) && !(a != a) ? b : a; }

template <Norm kind>
__device__ double joined(double a, double b) {
  return kind == Norm::max ? larger(a, b) : a + b;
}

/// The values of all lanes of a warp joined, in an order that is always the same. On all lanes.
template <Norm kind>
__device__ double joined_over_warp(double value) {
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2)
    value = joined<kind>(value, __shfl_xor_sync(~0u, value, distance));
  return value;
}

/// The same of all threads of a block of so many warps.
template <Norm kind, int warps = block_warps>
__device__ double joined_over_block(double value) {
  __shared__ double of_warp[warps];
  value = joined_over_warp<kind>(value);
  __syncthreads();  // of_warp may still be read from the time before
  if (threadIdx.x % warp_lanes == 0) of_warp[threadIdx.x / warp_lanes] = value;
  __syncthreads();
  double all = of_warp[0];
  for (int warp = 1; warp < warps; ++warp) all = joined<kind>(all, of_warp[warp]);
  return all;
}

/// Leaves a block's part of a norm.
template <class Real>
__device__ void leave(const Work<Real>& work, const SweepBlocks& blocks, double part) {
  if (threadIdx.x != 0) return;
  work.parts->values[work.first_part + blocks.number] = part;
  // By one region alone: others may be under way.
  if (blocks.number == 0 && work.is_last) work.parts->count = work.first_part + blocks.count;
}

template <Norm kind, class Real>
class Change;

template <class Real>
class Change<Norm::none, Real> {
 public:
  __device__ void add(Real, Real) {}
  __device__ double of_warp() const { return 0; }
  __device__ void publish(const Work<Real>&, const SweepBlocks&) const {}
};

template <class Real>
struct BitsOf;
template <>
struct BitsOf<float> {
  using Type = unsigned int;
};
template <>
struct BitsOf<double> {
  using Type = unsigned long long;
};

template <class Real>
class Change<Norm::max, Real> {
 public:
  __device__ void add(Real now, Real before) {
    // Through bits, since the comparison of numbers would lose a NaN: those of numbers that are not
    // negative are ordered as the numbers are, and any NaN is above them all.
    const Bits bits = bits_of(now - before);
    largest_ = bits > largest_ ? bits : largest_;
  }
  /// All lanes of a warp get that of the warp.
  __device__ double of_warp() const { return number_of(largest_of_warp()); }
  /// All threads of the block.
  __device__ void publish(const Work<Real>& work, const SweepBlocks& blocks) const {
    __shared__ Bits of_warp[block_warps];
    Bits largest = largest_of_warp();
    if (threadIdx.x % warp_lanes == 0) of_warp[threadIdx.x / warp_lanes] = largest;
    __syncthreads();
    if (threadIdx.x == 0)
      for (int warp = 1; warp < block_warps; ++warp)
        largest = of_warp[warp] > largest ? of_warp[warp] : largest;
    leave(work, blocks, number_of(largest));
  }

 private:
  using Bits = typename BitsOf<Real>::Type;

  __device__ Bits largest_of_warp() const {
    Bits largest = largest_;
    for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
      const Bits other = __shfl_xor_sync(~0u, largest, distance);
      largest = other > largest ? other : largest;
    }
    return largest;
  }

  // Of the magnitude: without the sign, which a NaN may have, too.
  static __device__ unsigned int bits_of(float value) {
    return __float_as_uint(value) & 0x7fffffffu;
  }
  static __device__ unsigned long long bits_of(double value) {
    return static_cast<unsigned long long>(__double_as_longlong(value)) & 0x7fffffffffffffffull;
  }
  static __device__ double number_of(unsigned int bits) { return __uint_as_float(bits); }
  static __device__ double number_of(unsigned long long bits) {
    return __longlong_as_double(static_cast<long long>(bits));
  }

  Bits largest_ = 0;
};

template <class Real>
class Change<Norm::l2, Real> {
 public:
  __device__ void add(Real now, Real before) {
    const double change = static_cast<double>(now - before);  // rounded to Real first
    sum_ += change * change;
  }
  /// All lanes of a warp get that of the warp.
  __device__ double of_warp() const { return joined_over_warp<Norm::l2>(sum_); }
  /// All threads of the block.
  __device__ void publish(const Work<Real>& work, const SweepBlocks& blocks) const {
    leave(work, blocks, joined_over_block<Norm::l2>(sum_));
  }

 private:
  double sum_ = 0;
};

}  // namespace halocline::stencil::cuda
