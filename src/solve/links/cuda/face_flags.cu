// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/early.cuh"
#include "device/cuda/flags.cuh"
#include "device/cuda/launch.cuh"
#include "links/cuda/face_flags.hpp"

namespace halocline::links::cuda {
namespace {

using device::Epoch;
using device::FacePort;
using device::FaceSide;

constexpr unsigned block_threads = 256;

/// Calls `call` with both ends that have a neighbour, and the tiles of this thread.
template <class Call>
__device__ void each_flag(const FacePort& port, std::int64_t tiles, const Call& call) {
  const std::int64_t threads = std::int64_t{gridDim.x} * block_threads;
  for (int end = 0; end < 2; ++end) {
    const FaceSide& side = end == 0 ? port.lower : port.upper;
    if (side.raise == nullptr) continue;
    for (std::int64_t tile = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; tile < tiles;
         tile += threads)
      call(side, tile, end);
  }
}

/// All blocks are resident: each raises its flags before it waits for any.
template <bool raises>
__global__ void __launch_bounds__(block_threads) meet(FacePort port, std::int64_t tiles) {
  device::cuda::await_stream();
  device::cuda::let_next_begin();
  if constexpr (raises)
    each_flag(port, tiles, [](const FaceSide& side, std::int64_t tile, int) {
      const Epoch swept = side.swept[tile] + 1;
      device::cuda::raise(side.raise + tile, swept);
      side.swept[tile] = swept;
    });
  each_flag(port, tiles, [&](const FaceSide& side, std::int64_t tile, int end) {
    device::cuda::await(side.raised + tile, side.swept[tile], port.watch, end);
  });
}

template <bool raises>
void launch(const FacePort& port, std::int64_t tiles, Stream stream) {
  device::cuda::launch(
      {.start = device::cuda::earliest_start()}, meet<raises>,
      device::cuda::blocks_for(tiles, block_threads, device::cuda::multiprocessors()),
      block_threads, stream, port, tiles);
}

}  // namespace

void load_face_flags() {
  device::cuda::load(meet<false>);
  device::cuda::load(meet<true>);
}

void await_all(const FacePort& port, std::int64_t tiles, Stream stream) {
  launch<false>(port, tiles, stream);
}

void meet_all(const FacePort& port, std::int64_t tiles, Stream stream) {
  launch<true>(port, tiles, stream);
}

}  // namespace halocline::links::cuda
