// SPDX-License-Identifier: Apache-2.0
// Reduces norms in a launch of its own.

#include "device/cuda/launch.cuh"
#include "stencil/cuda/passes/pass_work.cuh"
#include "stencil/cuda/reduce.cuh"
#include "stencil/cuda/sweep.hpp"

namespace halocline::stencil::cuda {
namespace {

constexpr int pass_threads = most_sweeps_of_pass * warp_lanes;

/// The number of a sweep's norm among those of its pass.
__device__ int number_of_norm(unsigned sweeps, int sweep) {
  return __popc(sweeps & ((1u << sweep) - 1));
}

/// Joins the partial norms of a pass, a warp those of a sweep.
template <Norm kind>
__device__ void join_parts(const ReduceWork& work, double* numbers) {
  const auto sweep = static_cast<int>(threadIdx.x) / warp_lanes;
  if ((work.sweeps >> sweep & 1) == 0) return;
  const PartialNorms& parts = *parts_of_sweep(const_cast<PartialNorms*>(work.parts), sweep);
  double mine = 0;
#pragma unroll 8  // loads at the same time
  for (Index i = threadIdx.x % warp_lanes; i < parts.count; i += warp_lanes)
    mine = joined<kind>(mine, parts.values[i]);
  mine = joined_over_warp<kind>(mine);
  if (threadIdx.x % warp_lanes == 0) numbers[number_of_norm(work.sweeps, sweep)] = mine;
}

/// Reduces the norms of a pass by several sweeps, each like one of a single sweep; those of all
/// ranks at once. The first that stops the run is the last that is stored.
template <Norm kind>
__device__ void reduce_several(const ReduceWork& work) {
  static_assert(most_sweeps_of_pass <= device::most_numbers_to_reduce);
  __shared__ double numbers[most_sweeps_of_pass];
  __shared__ bool all_here;
  NormOfRanks ranks(work.all_reduce);
  const auto thread = static_cast<int>(threadIdx.x);
  const int count = __popc(work.sweeps);
  if (thread == 0) all_here = true;
  if (work.shares == nullptr) join_parts<kind>(work, numbers);
  __syncthreads();
  double all = thread < count ? numbers[thread] : 0;
  if (work.share != nullptr) {
    if (thread < count) work.share[thread] = all;
    return;
  }
  if (work.shares != nullptr)
    all = joined_shares<kind, pass_threads>(work, count);
  else if (ranks.has_others())
    all = ranks.join_several<kind, pass_threads>(numbers, count, all_here);
  __syncthreads();  // they are sent
  if (thread < count) numbers[thread] = all;
  __syncthreads();
  if (thread != 0 || !all_here) return;
  bool ends = false;
  for (int sweep = 0; sweep < most_sweeps_of_pass && !ends; ++sweep) {
    if ((work.sweeps >> sweep & 1) == 0) continue;
    ReduceWork one = work;
    one.norm = work.norm == nullptr ? nullptr : work.norm + sweep;
    ends = settle<kind>(one, numbers[number_of_norm(work.sweeps, sweep)]);
  }
}

__global__ void __launch_bounds__(block_threads) reduce_alone(ReduceWork work) { reduce(work); }

__global__ void __launch_bounds__(pass_threads) reduce_pass(ReduceWork work) {
  if (work.stop_seen != nullptr && *work.stop_seen != 0) return;
  if (work.kind == Norm::max)
    reduce_several<Norm::max>(work);
  else
    reduce_several<Norm::l2>(work);
}

}  // namespace

void load_reduction() {
  device::cuda::load(reduce_alone);
  device::cuda::load(reduce_pass);
}

void launch_reduction(const ReduceWork& work, Stream stream) {
  if (work.sweeps == 0)
    device::cuda::launch(reduce_alone, 1, block_threads, stream, work);
  else
    device::cuda::launch(reduce_pass, 1, pass_threads, stream, work);
}

}  // namespace halocline::stencil::cuda
