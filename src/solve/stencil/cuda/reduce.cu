// SPDX-License-Identifier: Apache-2.0
// Reduces norms in a launch of its own.

#include "device/cuda/launch.cuh"
#include "stencil/cuda/passes/pass_work.cuh"
#include "stencil/cuda/reduce.cuh"
#include "stencil/cuda/sweep.hpp"

namespace halocline::stencil::cuda {
namespace {

/// Reduces the norms of a pass by several sweeps: a warp each from the partial norms, then one
/// after the other over all ranks, until one stops the run.
template <Norm kind>
__device__ void reduce_several(const ReduceWork& work) {
  __shared__ double of_sweep[most_sweeps_of_pass];
  __shared__ bool ends, all_here;
  if (threadIdx.x == 0) ends = false, all_here = true;
  NormOfRanks ranks(work.all_reduce);
  const auto warp = static_cast<int>(threadIdx.x) / warp_lanes;
  for (int sweep = warp; sweep < most_sweeps_of_pass; sweep += block_warps) {
    if ((work.sweeps >> sweep & 1) == 0) continue;
    const PartialNorms& parts = *parts_of_sweep(const_cast<PartialNorms*>(work.parts), sweep);
    double mine = 0;
#pragma unroll 8  // loads at the same time
    for (Index i = threadIdx.x % warp_lanes; i < parts.count; i += warp_lanes)
      mine = joined<kind>(mine, parts.values[i]);
    mine = joined_over_warp<kind>(mine);
    if (threadIdx.x % warp_lanes == 0) of_sweep[sweep] = mine;
  }
  for (int sweep = 0; sweep < most_sweeps_of_pass; ++sweep) {
    __syncthreads();
    const bool has_ended = ends;
    __syncthreads();  // all have read it before thread 0 may set it
    if (has_ended) return;
    if ((work.sweeps >> sweep & 1) == 0) continue;
    double all = of_sweep[sweep];
    if (ranks.has_others()) all = ranks.join<kind>(all, all_here);
    if (threadIdx.x != 0) continue;
    ReduceWork one = work;
    one.norm = work.norm == nullptr ? nullptr : work.norm + sweep;
    ends = !all_here || settle<kind>(one, all);
  }
}

__global__ void __launch_bounds__(block_threads) reduce_alone(ReduceWork work) {
  if (work.sweeps == 0) return reduce(work);
  if (work.stop_seen != nullptr && *work.stop_seen != 0) return;
  if (work.kind == Norm::max)
    reduce_several<Norm::max>(work);
  else
    reduce_several<Norm::l2>(work);
}

}  // namespace

void load_reduction() { device::cuda::load(reduce_alone); }

void launch_reduction(const ReduceWork& work, Stream stream) {
  device::cuda::launch(reduce_alone, 1, block_threads, stream, work);
}

}  // namespace halocline::stencil::cuda
