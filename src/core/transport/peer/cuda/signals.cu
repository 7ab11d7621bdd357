// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/flags.cuh"
#include "device/cuda/launch.cuh"
#include "transport/peer/cuda/signals.hpp"

namespace halocline::transport::cuda {
namespace {

using device::Epoch;

constexpr unsigned block_threads = 256;

__global__ void __launch_bounds__(block_threads)
    raise_rows(const FlagRow* rows, std::int64_t count, Epoch epoch) {
  for (std::int64_t row = 0; row < count; ++row)
    for (std::int64_t i = threadIdx.x; i < rows[row].count; i += block_threads)
      device::cuda::raise(rows[row].first + i, epoch);
}

__global__ void __launch_bounds__(block_threads)
    await_rows(const FlagRow* rows, std::int64_t count, Epoch epoch, const device::Watch* watch) {
  for (std::int64_t row = 0; row < count; ++row)
    for (std::int64_t i = threadIdx.x; i < rows[row].count; i += block_threads)
      if (!device::cuda::await(rows[row].first + i, epoch, watch, static_cast<int>(row))) return;
}

}  // namespace

void load_signals() {
  device::cuda::load(raise_rows);
  device::cuda::load(await_rows);
}

void raise_all(const FlagRow* rows, std::int64_t count, Epoch epoch, Stream stream) {
  if (count > 0) device::cuda::launch(raise_rows, 1, block_threads, stream, rows, count, epoch);
}

void await_all(const FlagRow* rows, std::int64_t count, Epoch epoch, const device::Watch* watch,
               Stream stream) {
  if (count > 0)
    device::cuda::launch(await_rows, 1, block_threads, stream, rows, count, epoch, watch);
}

}  // namespace halocline::transport::cuda
