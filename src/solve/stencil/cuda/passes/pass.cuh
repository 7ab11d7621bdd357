// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several sweeps in one pass over memory, in two axes or three: see walk.cuh.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "stencil/cuda/passes/walk.cuh"

namespace halocline::stencil::cuda {

/// Stores a block's partial norms, of all sweeps of the pass.
template <Norm kind, int sweeps, int warps, class Work>
__device__ void leave_norms(const Work& work, const double (&of_warp)[sweeps][warps]) {
  const auto sweep = static_cast<int>(threadIdx.x);
  if (sweep >= sweeps) return;
  double part = of_warp[sweep][0];
  for (int warp = 1; warp < warps; ++warp) part = joined<kind>(part, of_warp[sweep][warp]);
  PartialNorms& parts = *parts_of_sweep(work.parts, sweep);
  parts.values[work.first_part + blockIdx.x] = part;
  if (blockIdx.x == 0 && work.is_last) parts.count = work.first_part + gridDim.x;
}

/// Of what the compiler knows of a walk in two places, it would keep in memory for both what does
/// not fit in registers in one of them.
__device__ __forceinline__ void forget(WalkOfPass& walk) {
  forget(walk.strip), forget(walk.tile), forget(walk.from), forget(walk.to);
}

template <class Walk, Checks checks, bool within, class Work, class Update, class Call>
__device__ __forceinline__ void run_walk(const Work& work, const Update& update, WalkOfPass walk,
                                         const Call& call) {
  forget(walk);
  Walk walker(work, update, walk);
  walker.template run_in_block<checks, within>();
  call(walker);
}

template <Norm kind, class Shape, class Plan, class Real, class Update, int inputs, int outputs>
__global__ void __launch_bounds__(Shape::warps* warp_lanes, Shape::blocks)
    pass(PassWork<Real, inputs, outputs> work, Update update) {
  using Walk = PassWalk<kind, Shape, Plan, PassWork<Real, inputs, outputs>, Real, Update>;
  constexpr int sweeps = Shape::sweeps, warps = Shape::warps;
  if (work.stop != nullptr && *work.stop != 0) return;
  const auto warp = static_cast<int>(threadIdx.x) / warp_lanes;
  // In 3-D a walk is a block's, whose warps lie one above the other.
  const auto block = static_cast<int>(blockIdx.x);
  WalkOfPass walk = walk_of_pass(work.walks, Plan::axes == 3 ? block : block * warps + warp);
  [[maybe_unused]] __shared__ double of_warp[kind == Norm::none ? 1 : sweeps][warps];
  const auto leave_part = [&](const Walk& walker) {
    if constexpr (kind != Norm::none)
      for_each_number<sweeps>([&](auto s) {
        const double part =
            (walker.counts() ? walker.change(s.value) : ChangeInPass<kind, Real>()).of_warp();
        if (threadIdx.x % warp_lanes == 0) of_warp[s.value][warp] = part;
      });
  };
  if (walk.from >= work.cells[Plan::axes - 1]) {
    if (kind != Norm::none && threadIdx.x % warp_lanes == 0)
      for (int s = 0; s < sweeps; ++s) of_warp[s][warp] = 0;
  } else if constexpr (Plan::axes == 2) {
    Walk walker(work, update, walk);
    if constexpr (Shape::inlined)
      walker.run_inlined();
    else
      walker.run();
    leave_part(walker);
  } else {
    // Each kind of walk by itself: see forget().
    device::cuda::SplitBarrier::begin(warps * warp_lanes);
    const Walk looked_at(work, update, walk);
    const bool is_within = looked_at.is_within(), is_plain = looked_at.block_is_plain();
    if (is_plain && is_within)
      run_walk<Walk, Checks::ends, true>(work, update, walk, leave_part);
    else if (is_plain)
      run_walk<Walk, Checks::ends, false>(work, update, walk, leave_part);
    else if (Walk::is_long || !looked_at.block_has_whole_lanes())
      run_walk<Walk, Checks::beside_and_ends, false>(work, update, walk, leave_part);
    else if (is_within)
      run_walk<Walk, Checks::lanes_and_ends, true>(work, update, walk, leave_part);
    else
      run_walk<Walk, Checks::lanes_and_ends, false>(work, update, walk, leave_part);
  }
  if constexpr (kind != Norm::none) {
    __syncthreads();
    leave_norms<kind, sweeps, warps>(work, of_warp);
  }
}

}  // namespace halocline::stencil::cuda
