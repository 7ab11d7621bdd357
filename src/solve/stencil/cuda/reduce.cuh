// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reduction of a norm: over the partial norms of all blocks, then over all ranks.
//
// Compiles with nvcc and with NVRTC, so it includes nothing of the standard library.

#include "device/cuda/flags.cuh"
#include "stencil/cuda/change.cuh"
#include "stencil/cuda/work.cuh"

namespace halocline::stencil::cuda {

/// All-reduces this rank's partial norm `share`. Sets `all_here` to false if a rank did not answer.
/// Call it on all threads of a block; thread 0 gets the result.
template <Norm kind>
__device__ double joined_over_ranks(const device::AllReducePort& all_reduce, double share,
                                    bool& all_here) {
  const device::Epoch number = *all_reduce.count + 1;
  __syncthreads();  // all threads have read the count
  if (threadIdx.x == 0) *all_reduce.count = number;
  const int rank = static_cast<int>(threadIdx.x);
  if (rank < all_reduce.ranks) {
    all_reduce.to[rank][number % 2] = share;
    device::cuda::raise(all_reduce.raise[rank], number);
    if (!device::cuda::await(all_reduce.raised + rank, number, all_reduce.watch, rank))
      all_here = false;
  }
  __syncthreads();
  if (threadIdx.x != 0) return 0;
  // In rank order, so that a sum is always the same.
  double all = 0;
  for (int r = 0; r < all_reduce.ranks; ++r)
    all = joined<kind>(all, __ldcg(all_reduce.numbers + 2 * r + number % 2));
  return all;
}

/// Stores a norm, of which the sum or maximum over all ranks is `all`. Returns true if it stops the
/// run. Call it on one thread.
template <Norm kind>
__device__ bool settle(const ReduceWork& work, double all) {
  const double norm = kind == Norm::l2 ? ::sqrt(all) : all;
  constexpr double largest = 1.7976931348623157e308;
  if (work.norm != nullptr) *work.norm = norm;
  if (work.sum != nullptr) *work.sum = joined<kind>(*work.sum, all);
  const bool stops = work.stop != nullptr && (norm <= work.tolerance || !(norm <= largest));
  if (stops) *work.stop = 1;
  return stops;
}

/// Reduces a norm from each thread's value `mine`, on all threads of a block of so many warps.
/// Returns true, on thread 0, if the run ends: the norm stops it, or a rank did not answer.
template <Norm kind, int warps = block_warps>
__device__ bool reduce_share(const ReduceWork& work, double mine) {
  __shared__ bool all_here;
  if (threadIdx.x == 0) all_here = true;
  double all = joined_over_block<kind, warps>(mine);
  if (work.all_reduce.ranks > 0) all = joined_over_ranks<kind>(work.all_reduce, all, all_here);
  if (threadIdx.x != 0) return false;
  if (!all_here) return true;
  if (work.share == nullptr) return settle<kind>(work, all);
  *work.share = all;
  return false;
}

/// Reduces a norm from the partial norms that a sweep stored.
template <Norm kind, int warps = block_warps>
__device__ bool reduce_parts(const ReduceWork& work) {
  double mine = 0;
  for (Index i = threadIdx.x; i < work.parts->count; i += warps * warp_lanes)
    mine = joined<kind>(mine, work.parts->values[i]);
  return reduce_share<kind, warps>(work, mine);
}

/// Reduces a norm from the parts of all ranks, in their order, so that a sum is always the same.
template <Norm kind>
__device__ void reduce_shares(const ReduceWork& work) {
  __shared__ double some[block_threads];
  double all = 0;
  for (int first = 0; first < work.ranks; first += block_threads) {
    const int mine = first + static_cast<int>(threadIdx.x);
    __syncthreads();  // thread 0 has added up those before
    if (mine < work.ranks) some[threadIdx.x] = work.shares[mine];
    __syncthreads();
    if (threadIdx.x != 0) continue;
    for (int rank = first; rank < work.ranks && rank < first + block_threads; ++rank)
      all = joined<kind>(all, some[rank - first]);
  }
  if (threadIdx.x == 0) settle<kind>(work, all);
}

template <Norm kind>
__device__ void reduce_of_kind(const ReduceWork& work) {
  if (work.shares != nullptr)
    reduce_shares<kind>(work);
  else
    reduce_parts<kind>(work);
}

/// Reduces a norm. Call it on all threads of a block.
__device__ inline void reduce(const ReduceWork& work) {
  // After a stop there are no new partial norms.
  if (work.stop_seen != nullptr && *work.stop_seen != 0) return;
  if (work.kind == Norm::max)
    reduce_of_kind<Norm::max>(work);
  else
    reduce_of_kind<Norm::l2>(work);
}

}  // namespace halocline::stencil::cuda
