// SPDX-License-Identifier: Apache-2.0
// Times sweeps of a kernel of one's own with Halocline's halo, on one GPU for each rank, as
// bench/python_jacobi does for the same kernel:
//
//   mpirun -n 2 bench_gpu_jacobi [CELLS ...]      along both axes, by default 2048 4096 16384
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <halocline/halocline.hpp>

#include "jacobi_kernel.cuh"
#include "machine/gpu_binding.hpp"
#include "timing.hpp"

namespace {

using namespace halocline;
constexpr int repetitions = 7, per_graph = 50, threads = 256, rows = 3;

struct Sweeps {
  cudaStream_t stream;
  Grid grid;
  Field<float> levels[2];
  LevelExchange halos;
  cudaGraphExec_t graph{};

  Sweeps(const Communicator& world, std::int64_t cells, cudaStream_t queue)
      : stream(queue),
        grid(world, {.cells = {cells, cells}, .process_grid = {1, world.size()}}),
        levels{Field<float>(grid, {.name = "u", .memory = Memory::device}),
               Field<float>(grid, {.name = "v", .memory = Memory::device})},
        halos(world, grid, {{levels[0]}, {levels[1]}}) {
    cudaGraph_t captured = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    for (int s = 0; s < per_graph; ++s) sweep(s);
    cudaStreamEndCapture(stream, &captured);
    cudaGraphInstantiate(&graph, captured, 0);
    cudaGraphDestroy(captured);
  }
  ~Sweeps() { cudaGraphExecDestroy(graph); }

  void sweep(int number) {
    exchange(number);
    update(number);
  }
  void exchange(int number) { halos.run(number % 2, Stream::cuda(stream)); }
  void update(int number) const {
    const Int3 extent = grid.owned().extent();
    const FieldView<float> u = levels[number % 2].view(), v = levels[1 - number % 2].view();
    const std::int64_t first = grid.owned().lower.y, own_x = grid.owned().lower.x - u.origin().x;
    const auto nx = static_cast<int>(extent.x), ny = static_cast<int>(extent.y);
    const auto pitch = static_cast<int>(u.row(first + 1) - u.row(first));
    const dim3 blocks((nx / 4 + threads - 1) / threads, (ny + rows - 1) / rows);
    jacobi<<<blocks, threads, 0, stream>>>(u.row(first) + own_x, v.row(first) + own_x, nx, ny,
                                           pitch, rows);
  }
};

void measure(const Communicator& world, std::int64_t cells, cudaStream_t stream) {
  Sweeps work(world, cells, stream);
  const int calls = static_cast<int>(std::clamp<std::int64_t>(
                        1'000'000'000 * world.size() / (cells * cells), 100, 2000)) /
                    per_graph * per_graph;
  const auto print = [&](int count, double each, const std::function<void()>& call) {
    std::vector<double> us;
    for (int r = 0; r < repetitions; ++r)
      us.push_back(bench::time_of(count, call, [&] { cudaStreamSynchronize(stream); }) / each);
    const bench::Times times = bench::summary(us);
    if (world.rank() == 0) std::printf(" %8.2f %9.2f", times.best, times.median);
  };
  if (world.rank() == 0)
    std::printf("%-14s", (std::to_string(cells) + "x" + std::to_string(cells)).c_str());
  int number = 0;
  print(1000, 1, [&] { work.exchange(number++); });
  print(calls, 1, [&] { work.update(number++); });
  print(calls, 1, [&] { work.sweep(number++); });
  print(calls / per_graph, per_graph, [&] { cudaGraphLaunch(work.graph, stream); });
  if (world.rank() == 0) std::puts("");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const Runtime runtime;
  const Communicator world = Communicator::world();
  try {
    const machine::GpuBinding binding = machine::bind_gpu(world);
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (world.rank() == 0)
      std::printf(
          "us, %d rank(s), %s, %d on each, C++, best and median of %d\n"
          "%-14s%17s%19s%19s%19s\n%-14s%9s%10s%9s%10s%9s%10s%9s%10s\n",
          world.size(), binding.gpu.name.c_str(), binding.ranks_on_gpu, repetitions, "", "exchange",
          "kernel alone", "sweep, each call", "sweep, in a graph", "cells", "best", "median",
          "best", "median", "best", "median", "best", "median");
    std::vector<std::int64_t> sides;
    for (int i = 1; i < argc; ++i) sides.push_back(std::atol(argv[i]));
    if (sides.empty()) sides = {2048, 4096, 16384};
    for (const std::int64_t cells : sides) measure(world, cells, stream);
    return 0;
  } catch (const Error& error) {
    if (world.rank() == 0) std::fprintf(stderr, "bench_gpu_jacobi: %s\n", error.what());
    return 3;
  }
}
