// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reduction of a norm: over the partial norms of all blocks, then over all ranks.
//
// Compiles with nvcc and with NVRTC, so it includes nothing of the standard library.

#include "device/all_reduce_port.hpp"
#include "device/cuda/edge_words.cuh"
#include "stencil/cuda/change.cuh"
#include "stencil/cuda/work.cuh"

namespace halocline::stencil::cuda {

/// Joins `count` numbers of each rank, which `number_of(rank, number)` gives, on `threads` threads;
/// thread n gets number n of all. In rank order, so that a sum is always the same.
template <Norm kind, int threads, class NumberOf>
__device__ double joined_over_ranks(int ranks, int count, const NumberOf& number_of) {
  __shared__ double some[threads];
  const auto thread = static_cast<int>(threadIdx.x);
  const int ranks_at_once = threads / count;
  double all = 0;
  for (int first = 0; first < ranks; first += ranks_at_once) {
    const int left = ranks - first, now = left < ranks_at_once ? left : ranks_at_once;
    __syncthreads();  // those before are joined
    if (thread < now * count) some[thread] = number_of(first + thread / count, thread % count);
    __syncthreads();
    if (thread >= count) continue;
    for (int rank = 0; rank < now; ++rank) all = joined<kind>(all, some[rank * count + thread]);
  }
  return all;
}

/// All-reduces of this rank's partial norms, on all threads of a block. It loads what it needs of
/// the port at once, so that this takes no time later.
class NormOfRanks {
 public:
  __device__ explicit NormOfRanks(const device::AllReducePort& port) : port_(port) {
    if (port.ranks == 0) return;
    number_ = *port.count;
    if (has_rank()) to_ = port.to[threadIdx.x];
  }
  __device__ bool has_others() const { return port_.ranks > 0; }

  /// Thread r exchanges numbers with rank r. Sets `all_here` to false if a rank did not answer.
  /// Thread 0 gets the result.
  template <Norm kind>
  __device__ double join(double share, bool& all_here) {
    __shared__ double of_rank[device::most_ranks_to_reduce];
    begin();
    if (has_rank()) {
      const auto rank = static_cast<int>(threadIdx.x);
      device::cuda::send(to_ + place(), device::cuda::words_of(share, epoch()));
      of_rank[rank] = await(rank, 0, all_here);
    }
    __syncthreads();
    if (threadIdx.x != 0) return 0;
    // In rank order, so that a sum is always the same.
    double all = 0;
    for (int rank = 0; rank < port_.ranks; ++rank) all = joined<kind>(all, of_rank[rank]);
    return all;
  }

  /// Joins `count` numbers at once, in shared memory, on `threads` threads; thread n gets number n
  /// of all ranks. Sets `all_here` to false if a rank did not answer.
  template <Norm kind, int threads>
  __device__ double join_several(const double* numbers, int count, bool& all_here) {
    begin();
    for (auto i = static_cast<int>(threadIdx.x); i < port_.ranks * count; i += threads)
      device::cuda::send(port_.to[i / count] + place() + i % count,
                         device::cuda::words_of(numbers[i % count], epoch()));
    return joined_over_ranks<kind, threads>(
        port_.ranks, count, [&](int rank, int number) { return await(rank, number, all_here); });
  }

 private:
  __device__ void begin() {
    ++number_;
    if (threadIdx.x == 0) *port_.count = number_;
  }
  __device__ unsigned epoch() const { return static_cast<unsigned>(number_); }
  __device__ int place() const { return static_cast<int>(number_ % 2) * device::words_of_place; }
  __device__ double await(int rank, int number, bool& all_here) const {
    bool came = true;
    const device::EdgeWords words =
        device::cuda::await_words(port_.from + device::words_of_rank * rank + place() + number,
                                  epoch(), device::cuda::Patience(port_.watch, rank), came);
    if (!came) all_here = false;
    return device::cuda::number_of(words);
  }
  __device__ bool has_rank() const { return static_cast<int>(threadIdx.x) < port_.ranks; }

  const device::AllReducePort& port_;
  device::Epoch number_ = 0;
  device::EdgeWords* to_ = nullptr;
};

/// Stores a norm, of which the sum or maximum over all ranks is `all`. Returns true if it stops the
/// run. Call it on one thread.
template <Norm kind>
__device__ bool settle(const ReduceWork& work, double all) {
  const double norm = kind == Norm::l2 ? ::sqrt(all) : all;
  constexpr double largest = 1.7976931348623157e308;
  if (work.norm != nullptr) *work.norm = norm;
  if (work.sum != nullptr) *work.sum = joined<kind>(*work.sum, all);
  const bool is_small = norm <= work.tolerance && norm >= work.least;
  const bool stops = work.stop != nullptr && (is_small || !(norm <= largest));
  if (stops) *work.stop = 1;
  return stops;
}

/// Joins `count` numbers from the parts of all ranks, as joined_over_ranks() does.
template <Norm kind, int threads>
__device__ double joined_shares(const ReduceWork& work, int count) {
  return joined_over_ranks<kind, threads>(
      work.ranks, count, [&](int rank, int number) { return work.shares[rank * count + number]; });
}

/// Reduces a norm from each thread's value `mine`, on all threads of a block of `warps` warps.
/// Returns true, on thread 0, if the run ends: the norm stops it, or a rank did not answer.
template <Norm kind, int warps = block_warps>
__device__ bool reduce_share(const ReduceWork& work, NormOfRanks& ranks, double mine) {
  __shared__ bool all_here;
  if (threadIdx.x == 0) all_here = true;
  double all = joined_over_block<kind, warps>(mine);
  if (ranks.has_others()) all = ranks.join<kind>(all, all_here);
  if (threadIdx.x != 0) return false;
  if (!all_here) return true;
  if (work.share == nullptr) return settle<kind>(work, all);
  *work.share = all;
  return false;
}

/// Reduces a norm from the partial norms that a sweep stored.
template <Norm kind, int warps = block_warps>
__device__ bool reduce_parts(const ReduceWork& work, NormOfRanks& ranks) {
  double mine = 0;
  for (Index i = threadIdx.x; i < work.parts->count; i += warps * warp_lanes)
    mine = joined<kind>(mine, work.parts->values[i]);
  return reduce_share<kind, warps>(work, ranks, mine);
}

template <Norm kind>
__device__ void reduce_of_kind(const ReduceWork& work) {
  if (work.shares != nullptr) {
    const double all = joined_shares<kind, block_threads>(work, 1);
    if (threadIdx.x == 0) settle<kind>(work, all);
    return;
  }
  NormOfRanks ranks(work.all_reduce);
  reduce_parts<kind>(work, ranks);
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
