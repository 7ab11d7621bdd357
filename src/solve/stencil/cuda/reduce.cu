// SPDX-License-Identifier: Apache-2.0
// Reduces a norm in a launch of its own.

#include "device/cuda/launch.cuh"
#include "stencil/cuda/reduce.cuh"
#include "stencil/cuda/sweep.hpp"

namespace halocline::stencil::cuda {
namespace {

__global__ void __launch_bounds__(block_threads) reduce_alone(ReduceWork work) { reduce(work); }

}  // namespace

void load_reduction() { device::cuda::load(reduce_alone); }

void launch_reduction(const ReduceWork& work, Stream stream) {
  device::cuda::launch(reduce_alone, 1, block_threads, stream, work);
}

}  // namespace halocline::stencil::cuda
