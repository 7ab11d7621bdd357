// SPDX-License-Identifier: Apache-2.0
// Times EBISU's kernel of five points: launched by its own rule, with more blocks along y, and with
// blocks of 128 threads, which it has, too.

#include "jacobi-temporal-traditional.cu"
#include "timing.cuh"

constexpr int tile = ipts<HALO, curshape, Real>::val;  // rows that a thread updates at once
constexpr int published_sweeps = timesteps<HALO, curshape, tile, Real>::val;
int multiprocessors = 0;

template <int sweeps>
void measure(Bench& bench) {
  const auto kernel = kernel_temporal_traditional<Real, HALO, tile, sweeps>;
  int rows = 1;  // that a block keeps: a power of two, as the kernel counts them
  while (rows < 2 * tile + HALO + (tile + HALO) * (sweeps - 1)) rows *= 2;
  for (const int threads : {256, 128}) {
    const int bytes = (rows * threads + 1) * static_cast<int>(sizeof(Real));
    int resident = 0;
    must(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    must(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, bytes));
    const int columns = threads - 2 * sweeps;
    const int along_x = (bench.width + columns - 1) / columns;
    for (const int waves : {1, 2, 4}) {  // its own rule: one, of 256 threads
      const int along_y = std::max(1, waves * multiprocessors * resident / along_x);
      const bool published = threads == 256 && waves == 1 && sweeps == published_sweeps;
      const auto launch = "bdim=" + std::to_string(threads) + ",gridy=" + std::to_string(along_y);
      bench.measure({sweeps, 2 * sweeps + 1, published, launch}, [&](int pass) {
        kernel<<<dim3(along_x, along_y), threads, bytes>>>(bench.level(pass % 2), bench.width,
                                                           bench.width, bench.level(1 - pass % 2));
      });
    }
  }
}

template <int... sweeps>
void measure_grid(int cells) {
  Bench bench(cells, cells);
  (measure<sweeps>(bench), ...);
}

int main() {
  must(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  for (const int cells : {16384, 4096}) measure_grid<5, 6, 8, 9, 10, 12>(cells);
  // The published grid, which fits 108 multiprocessors, and the one that fits this GPU.
  for (const int number : {108, multiprocessors})
    measure_grid<published_sweeps>(number / 3 * (256 - 2 * published_sweeps));
}
