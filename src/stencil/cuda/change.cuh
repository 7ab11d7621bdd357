#pragma once
// Norms of the update, taken inside the sweep: one value per thread, one per block, then all.
//
// Compiles with nvcc and with NVRTC, so nothing of the standard library is included.

#include "device/cuda/flags.cuh"
#include "stencil/cuda/work.cuh"

namespace halocline::stencil::cuda {

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

/// True in the block that comes here last; what the others wrote before is then there to read
/// (past the first cache). All threads of a block.
__device__ inline bool comes_last(const NormPlace& place) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(place.arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  return last;
}

/// Writes a norm down and decides whether the run stops with it. One thread.
__device__ inline void decide(const NormPlace& place, double norm) {
  constexpr double largest = 1.7976931348623157e308;
  *place.norm = norm;
  if (place.stop != nullptr && (norm <= place.tolerance || !(norm <= largest))) *place.stop = 1;
}

/// The larger one, or what is not a number.
__device__ inline double larger(double a, double b) { return !(a >= b) && !(a != a) ? b : a; }

/// Settles the norm that all ranks have sent to the last meeting. All threads of a block.
template <Norm kind>
__device__ void settle(const NormPlace& place) {
  __shared__ bool all_here;
  const device::Meeting& meeting = place.meeting;
  const device::Epoch last = *meeting.count;
  if (threadIdx.x == 0) all_here = true;
  __syncthreads();
  const int rank = static_cast<int>(threadIdx.x);
  if (rank < meeting.ranks &&
      !device::cuda::await(meeting.raised + rank, last, meeting.watch, rank))
    all_here = false;
  __syncthreads();
  if (threadIdx.x != 0 || !all_here) return;
  const double* numbers = meeting.numbers + last % 2;
  double sum = 0;
  // In the order of ranks, so that a sum is the same each time.
  for (int r = 0; r < meeting.ranks; ++r) {
    const double number = __ldcg(numbers + 2 * r);
    sum = kind == Norm::max ? larger(sum, number) : sum + number;
  }
  decide(place, kind == Norm::l2 ? sqrt(sum) : sum);
}

/// Sends this rank's share of a norm to all ranks. All threads of a block.
__device__ inline void send(const device::Meeting& meeting, double share) {
  const device::Epoch next = *meeting.count + 1;
  __syncthreads();  // all have read the count
  const int rank = static_cast<int>(threadIdx.x);
  if (rank < meeting.ranks) {
    meeting.to[rank][next % 2] = share;
    device::cuda::raise(meeting.raise[rank], next);
  }
  if (threadIdx.x == 0) *meeting.count = next;
}

/// Ends a norm, of which `sum` is this rank's share. All threads of a block that may read it.
template <Norm kind>
__device__ void end(const NormPlace& place, double sum) {
  if (place.meeting.ranks > 0) {
    if (place.norm != nullptr) settle<kind>(place);
    send(place.meeting, sum);
  } else if (threadIdx.x == 0) {
    decide(place, kind == Norm::l2 ? sqrt(sum) : sum);
  }
  if (threadIdx.x == 0) *place.sum = 0;
}

template <Norm kind, class Real>
class Change;

template <class Real>
class Change<Norm::none, Real> {
 public:
  __device__ void add(Real, Real) {}
  __device__ void publish(const NormPlace&) const {}
};

template <class Real>
class Change<Norm::max, Real> {
 public:
  __device__ void add(Real now, Real before) {
    // Through bits, since the comparison of numbers would lose a NaN.
    const Bits bits = bits_of(now - before);
    largest_ = bits > largest_ ? bits : largest_;
  }
  /// All threads of the block.
  __device__ void publish(const NormPlace& place) const {
    __shared__ Bits of_warp[block_warps];
    Bits largest = largest_;
    for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
      const Bits other = __shfl_xor_sync(~0u, largest, distance);
      largest = other > largest ? other : largest;
    }
    if (threadIdx.x % warp_lanes == 0) of_warp[threadIdx.x / warp_lanes] = largest;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int warp = 1; warp < block_warps; ++warp)
        largest = of_warp[warp] > largest ? of_warp[warp] : largest;
      // A maximum is the same in any order.
      if (largest != 0)
        atomicMax(reinterpret_cast<unsigned long long*>(place.sum), as_double(largest));
    }
    if (!place.ends || !comes_last(place)) return;
    const double sum = __ldcg(place.sum);
    __syncthreads();  // all have read it
    end<Norm::max>(place, sum);
  }

 private:
  using Bits = typename BitsOf<Real>::Type;

  // Of the magnitude: without the sign, which a NaN may have, too.
  static __device__ unsigned int bits_of(float value) {
    return __float_as_uint(value) & 0x7fffffffu;
  }
  static __device__ unsigned long long bits_of(double value) {
    return static_cast<unsigned long long>(__double_as_longlong(value)) & 0x7fffffffffffffffull;
  }
  /// Of the same number as a double.
  static __device__ unsigned long long as_double(unsigned int bits) {
    return bits_of(static_cast<double>(__uint_as_float(bits)));
  }
  static __device__ unsigned long long as_double(unsigned long long bits) { return bits; }

  Bits largest_ = 0;
};

template <class Real>
class Change<Norm::l2, Real> {
 public:
  __device__ void add(Real now, Real before) {
    const double change = static_cast<double>(now - before);  // rounded to Real first
    sum_ += change * change;
  }
  /// All threads of the block. The block that comes last adds up those of all, in their order, so
  /// that the sum is the same each time.
  __device__ void publish(const NormPlace& place) const {
    const double of_block = sum_of_block(sum_);
    if (threadIdx.x == 0) place.partials[blockIdx.x] = of_block;
    if (!comes_last(place)) return;
    double mine = 0;
    for (unsigned int block = threadIdx.x; block < gridDim.x; block += block_threads)
      mine += __ldcg(&place.partials[block]);
    const double before = __ldcg(place.sum);
    const double of_all = before + sum_of_block(mine);
    if (place.ends)
      end<Norm::l2>(place, of_all);
    else if (threadIdx.x == 0)
      *place.sum = of_all;
  }

 private:
  /// On all threads.
  static __device__ double sum_of_block(double value) {
    __shared__ double of_warp[block_warps];
    for (int distance = warp_lanes / 2; distance > 0; distance /= 2)
      value += __shfl_xor_sync(~0u, value, distance);
    __syncthreads();  // of_warp may still be read from the time before
    if (threadIdx.x % warp_lanes == 0) of_warp[threadIdx.x / warp_lanes] = value;
    __syncthreads();
    double sum = of_warp[0];
    for (int warp = 1; warp < block_warps; ++warp) sum += of_warp[warp];
    return sum;
  }

  double sum_ = 0;
};

}  // namespace halocline::stencil::cuda
