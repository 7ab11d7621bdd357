// SPDX-License-Identifier: Apache-2.0
// Measures what both faces across x of periodic fields cost on one GPU, out of its caches: each row
// of cells gives the cells at its ends to the halo at its other end, in memory that is read and
// written in sectors of 32 bytes.
//
//   bench_gpu_faces [repetitions]
//
// Microseconds, median of the repetitions, launch included.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "device/buffer.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/launch.cuh"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "pack/pack.hpp"

namespace {

using namespace halocline;

constexpr std::int64_t side = 256, rows = side * side, sector = 32, line = 64;
constexpr unsigned threads = 256;

/// Fields of side^3 cells as Halocline lays them out: rows begin at a multiple of 64 bytes, and the
/// halo of a row's end shares its line with that of the next one's begin.
template <class Real>
class Fields {
 public:
  explicit Fields(int count) {
    for (int i = 0; i < count; ++i) {
      memory_.push_back(device::allocate(Memory::device, layer * (side + 2)));
      first_.push_back(static_cast<std::byte*>(memory_.back().get()) + layer + pitch + line);
    }
    on_gpu_ = device::allocate(Memory::device, count * std::int64_t{sizeof(std::byte*)});
    device::copy(on_gpu_.get(), first_.data(), count * std::int64_t{sizeof(std::byte*)},
                 Stream::host());
  }

  int count() const { return static_cast<int>(first_.size()); }
  /// The first cells, in the GPU's memory.
  std::byte* const* on_gpu() const { return static_cast<std::byte* const*>(on_gpu_.get()); }

  /// Both faces of all fields, as an exchange moves them.
  std::vector<pack::Move> moves() const {
    std::vector<pack::Move> moves;
    const auto runs = [](std::byte* field, std::int64_t from) {
      pack::FieldRuns column{field, {}, 0};
      for (std::int64_t z = 0; z < side; ++z)
        column.runs.push_back({from + z * layer, bytes, side, pitch});
      return column;
    };
    for (std::byte* field : first_) {
      moves.push_back({runs(field, length - bytes), runs(field, -bytes)});
      moves.push_back({runs(field, 0), runs(field, length)});
    }
    return moves;
  }

  static constexpr std::int64_t bytes = sizeof(Real), length = side * bytes, pitch = length + line,
                                layer = (side + 2) * pitch;

 private:
  std::vector<std::shared_ptr<void>> memory_;
  std::vector<std::byte*> first_;
  std::shared_ptr<void> on_gpu_;
};

template <class Real>
__device__ std::byte* row_of(std::byte* const* fields, std::int64_t row) {
  using F = Fields<Real>;
  return fields[row / rows] + row % rows / side * F::layer + row % side * F::pitch;
}

/// Whole sectors, by threads that take 8 bytes each.
template <class Real>
__global__ void copy_sectors(std::byte* const* fields, std::int64_t all_rows) {
  using F = Fields<Real>;
  constexpr std::int64_t words = sector / 8;
  const std::int64_t step = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < 2 * all_rows * words;
       i += step) {
    const std::int64_t number = i / words, word = i % words;
    const bool is_upper = number >= all_rows;
    std::byte* const row = row_of<Real>(fields, number % all_rows) + word * 8;
    *reinterpret_cast<std::uint64_t*>(row + (is_upper ? F::length : -sector)) =
        *reinterpret_cast<const std::uint64_t*>(row + (is_upper ? 0 : F::length - sector));
  }
}

/// Cells alone: a face after the other, or both in turn.
template <class Real, bool in_turn>
__global__ void copy_cells(std::byte* const* fields, std::int64_t all_rows) {
  using F = Fields<Real>;
  const std::int64_t step = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < 2 * all_rows;
       i += step) {
    const bool is_upper = in_turn ? i % 2 != 0 : i >= all_rows;
    std::byte* const row = row_of<Real>(fields, in_turn ? i / 2 : i % all_rows);
    *reinterpret_cast<Real*>(row + (is_upper ? F::length : -F::bytes)) =
        *reinterpret_cast<const Real*>(row + (is_upper ? 0 : F::length - F::bytes));
  }
}

/// Both in turn, the goal's sector filled with zeros: as if what is beside a halo were padding.
template <class Real>
__global__ void fill_sectors(std::byte* const* fields, std::int64_t all_rows) {
  using F = Fields<Real>;
  const std::int64_t step = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < 2 * all_rows;
       i += step) {
    const bool is_upper = i % 2 != 0;
    std::byte* const row = row_of<Real>(fields, i / 2);
    const Real value = *reinterpret_cast<const Real*>(row + (is_upper ? 0 : F::length - F::bytes));
    constexpr int half = 16 / static_cast<int>(sizeof(Real));
    Real values[2 * half]{};
    values[is_upper ? 0 : 2 * half - 1] = value;
    auto* const to = reinterpret_cast<uint4*>(row + (is_upper ? F::length : -sector));
    to[0] = *reinterpret_cast<const uint4*>(values);
    to[1] = *reinterpret_cast<const uint4*>(values + half);
  }
}

/// Memory that fills the caches.
class Flush {
 public:
  Flush() : memory_(device::allocate(Memory::device, bytes)) {}
  void run(Stream stream) const { device::clear(memory_.get(), bytes, stream); }

 private:
  static constexpr std::int64_t bytes = std::int64_t{512} << 20;
  std::shared_ptr<void> memory_;
};

double median_us(int repetitions, Stream stream, const std::function<void()>& call) {
  const Flush flush;
  const auto native = static_cast<cudaStream_t>(stream.native());
  cudaEvent_t begun = nullptr, ended = nullptr;
  device::cuda::check(cudaEventCreate(&begun), "cudaEventCreate");
  device::cuda::check(cudaEventCreate(&ended), "cudaEventCreate");
  std::vector<float> times;
  call();
  for (int i = 0; i < repetitions; ++i) {
    flush.run(stream);
    cudaEventRecord(begun, native);
    call();
    cudaEventRecord(ended, native);
    device::cuda::check(cudaEventSynchronize(ended), "a repetition");
    float ms = 0;
    cudaEventElapsedTime(&ms, begun, ended);
    times.push_back(ms * 1000);
  }
  cudaEventDestroy(begun);
  cudaEventDestroy(ended);
  std::nth_element(times.begin(), times.begin() + repetitions / 2, times.end());
  return static_cast<double>(times[static_cast<std::size_t>(repetitions / 2)]);
}

template <class Real>
void measure(int count, int repetitions) {
  const Fields<Real> fields(count);
  const device::OwnedStream stream;
  const std::int64_t all_rows = count * rows;
  const auto launch = [&](auto kernel) {
    return [&stream, &fields, kernel, all_rows] {
      device::cuda::launch({}, kernel, 4u * static_cast<unsigned>(device::cuda::multiprocessors()),
                           threads, stream.get(), fields.on_gpu(), all_rows);
    };
  };
  const pack::Copies ours({}, pack::Direction::pack, Memory::device, fields.moves());
  const double sectors = median_us(repetitions, stream.get(), launch(copy_sectors<Real>)),
               apart = median_us(repetitions, stream.get(), launch(copy_cells<Real, false>)),
               in_turn = median_us(repetitions, stream.get(), launch(copy_cells<Real, true>)),
               filled = median_us(repetitions, stream.get(), launch(fill_sectors<Real>)),
               exchange = median_us(repetitions, stream.get(), [&] { ours.run(stream.get()); });
  std::printf("  %6d  f%d  %14.1f  %16.1f  %12.1f  %14.1f  %9.1f\n", count,
              static_cast<int>(8 * sizeof(Real)), sectors, apart, in_turn, filled, exchange);
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 21;
  const device::Gpus& gpus = device::gpus();
  if (gpus.list.empty() || repetitions < 1) {
    std::fprintf(stderr, "usage: bench_gpu_faces [repetitions], with a GPU\n");
    return 1;
  }
  device::use(gpus.list.front());
  std::printf("both faces across x of fields of 256^3 cells, on one GPU, out of its caches: us\n");
  std::printf(
      "  fields       whole sectors  face after face  both in turn  sectors filled  Halocline\n");
  for (const int count : {1, 3, 8}) {
    measure<float>(count, repetitions);
    measure<double>(count, repetitions);
  }
}
