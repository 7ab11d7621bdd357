// SPDX-License-Identifier: Apache-2.0
#pragma once
// Partial norms of the update, computed inside the sweep: one value per thread, then one per block,
// which a later launch reduces. So no block waits at the end of a sweep: a reduction by the last
// block added 5 us to a sweep of 2048x2048 cells, and 9 to one of 16384x16384.
//
// Compiles with nvcc and with NVRTC, so it includes nothing of the standard library.

#include "stencil/cuda/walks/blocks.cuh"

namespace halocline::stencil::cuda {

/// Returns the larger value; NaN if either is NaN.
__device__ inline double larger(double a, double b) { return !(a >= b) && !(a != a) ? b : a; }

template <Norm kind>
__device__ double joined(double a, double b) {
  return kind == Norm::max ? larger(a, b) : a + b;
}

/// Joins the values of all lanes of a warp, always in the same order. All lanes get the result.
template <Norm kind>
__device__ double joined_over_warp(double value) {
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2)
    value = joined<kind>(value, __shfl_xor_sync(~0u, value, distance));
  return value;
}

/// Joins the values of all threads of a block of `warps` warps. All threads get the result.
template <Norm kind, int warps = block_warps>
__device__ double joined_over_block(double value) {
  __shared__ double of_warp[warps];
  value = joined_over_warp<kind>(value);
  __syncthreads();  // the previous call may still read of_warp
  if (threadIdx.x % warp_lanes == 0) of_warp[threadIdx.x / warp_lanes] = value;
  __syncthreads();
  double all = of_warp[0];
  for (int warp = 1; warp < warps; ++warp) all = joined<kind>(all, of_warp[warp]);
  return all;
}

/// Stores a block's partial norm.
template <class Work>
__device__ void leave(const Work& work, const SweepBlocks& blocks, double part) {
  if (threadIdx.x != 0) return;
  work.parts->values[work.first_part + blocks.number] = part;
  // Only by the last region: others may be running.
  if (blocks.number == 0 && work.is_last) work.parts->count = work.first_part + blocks.count;
}

/// `Size`: in what the largest size of a change is kept, of Norm::max: Real, or its bits.
template <Norm kind, class Real, class Size = Real>
class Change;

template <class Real, class Size>
class Change<Norm::none, Real, Size> {
 public:
  __device__ void add(Real, Real) {}
  __device__ double of_warp() const { return 0; }
  template <class Work>
  __device__ void publish(const Work&, const SweepBlocks&) const {}
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

// Of values that are not negative, or NaN: their bits have the order of the numbers, and every NaN
// is above them.
__device__ inline unsigned int bits_of(float value) { return __float_as_uint(value); }
__device__ inline unsigned long long bits_of(double value) {
  return static_cast<unsigned long long>(__double_as_longlong(value));
}
__device__ inline unsigned long long bits_of(unsigned long long bits) { return bits; }

/// All lanes of a warp get the largest.
template <class Bits>
__device__ Bits largest_over_warp(Bits largest) {
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
    const Bits other = __shfl_xor_sync(~0u, largest, distance);
    largest = other > largest ? other : largest;
  }
  return largest;
}

/// Returns the larger one of `largest` and |change|; NaN if either is NaN.
template <class Real>
__device__ Real larger_size(Real largest, Real change) {
  // Without the sign, which a NaN may have too.
  const Real size = ::fabs(change);
  return bits_of(size) > bits_of(largest) ? size : largest;
}
__device__ inline unsigned long long larger_size(unsigned long long largest,
                                                 unsigned long long size) {
  return size > largest ? size : largest;
}
__device__ inline unsigned long long larger_size(unsigned long long largest, double change) {
  return larger_size(largest, bits_of(change) & ~(1ull << 63));
}
// In one instruction each.
#if !defined(CUDA_ON_CPU) && __CUDA_ARCH__ >= 800
template <>
__device__ inline unsigned int largest_over_warp(unsigned int largest) {
  return __reduce_max_sync(~0u, largest);
}
template <>
__device__ inline float larger_size(float largest, float change) {
  float result = 0;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(largest), "f"(::fabsf(change)));
  return result;
}
#endif

template <class Real, class Size>
class Change<Norm::max, Real, Size> {
 public:
  __device__ void add(Real now, Real before) { largest_ = larger_size(largest_, now - before); }
  __device__ void join(const Change& other) { largest_ = larger_size(largest_, other.largest_); }
  /// Returns the partial norm of the warp, on all lanes.
  __device__ double of_warp() const { return number_of(largest_of_warp()); }
  /// Stores the partial norm of the block. Call it on all threads of the block.
  template <class Work>
  __device__ void publish(const Work& work, const SweepBlocks& blocks) const {
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

  __device__ Bits largest_of_warp() const { return largest_over_warp(bits_of(largest_)); }

  static __device__ double number_of(unsigned int bits) { return __uint_as_float(bits); }
  static __device__ double number_of(unsigned long long bits) {
    return __longlong_as_double(static_cast<long long>(bits));
  }

  Size largest_ = 0;
};

template <class Real, class Size>
class Change<Norm::l2, Real, Size> {
 public:
  __device__ void add(Real now, Real before) {
    const double change = static_cast<double>(now - before);  // rounded to Real first
    sum_ += change * change;
  }
  /// Returns the partial norm of the warp, on all lanes.
  __device__ double of_warp() const { return joined_over_warp<Norm::l2>(sum_); }
  /// Stores the partial norm of the block. Call it on all threads of the block.
  template <class Work>
  __device__ void publish(const Work& work, const SweepBlocks& blocks) const {
    leave(work, blocks, joined_over_block<Norm::l2>(sum_));
  }

 private:
  double sum_ = 0;
};

}  // namespace halocline::stencil::cuda
