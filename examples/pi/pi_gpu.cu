// SPDX-License-Identifier: Apache-2.0
// Pi by GPUs: as pi_mpi, with each rank's share added up on a GPU, or on the host without one.
#include <mpi.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "../gpu.cuh"
#include "../whole_number.hpp"

constexpr int blocks = 128, threads = 256;

__host__ __device__ double height(long long cell, double width) {
  const double x = (static_cast<double>(cell) + 0.5) * width;
  return 4 / (1 + x * x);
}

// One sum per thread, of every (blocks * threads)-th cell. No atomics: the order of additions, and
// so the last bit, is always the same.
__global__ void add_up(long long first, long long end, double width, double* sums) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  double sum = 0;
  for (long long i = first + thread; i < end; i += blocks * threads) sum += height(i, width);
  sums[thread] = sum;
}

double sum_on_gpu(long long first, long long end, double width) {
  std::vector<double> sums(blocks * threads);
  double* on_gpu = nullptr;
  check(cudaMalloc(&on_gpu, sums.size() * sizeof(double)), "memory for sums");
  cudaLaunchConfig_t shape{};  // as <<<blocks, threads>>>, but for every compiler
  shape.gridDim = dim3(blocks);
  shape.blockDim = dim3(threads);
  check(cudaLaunchKernelEx(&shape, add_up, first, end, width, on_gpu), "launching add_up");
  check(cudaMemcpy(sums.data(), on_gpu, sums.size() * sizeof(double), cudaMemcpyDeviceToHost),
        "add_up");  // waits for the kernel, and tells of its faults
  check(cudaFree(on_gpu), "freeing sums");
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

double sum_on_host(long long first, long long end, double width) {
  double sum = 0;
  for (long long i = first; i < end; ++i) sum += height(i, width);
  return sum;
}

int main(int argc, char** argv) {
  alarm(60);  // nothing here runs for longer
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto given = whole_number(argc > 1 ? argv[1] : "1024000", 1, 10'000'000'000);
  if (!given) {
    if (rank == 0)
      std::fprintf(stderr, "pi_gpu: cells are a whole number from 1 to 10^10, not '%s'\n", argv[1]);
    MPI_Finalize();
    return 2;
  }
  const long long cells = *given;
  const double width = 1.0 / static_cast<double>(cells);
  const long long first = cells * rank / ranks, end = cells * (rank + 1) / ranks;

  const bool gpu = take_gpu();
  const double sum = gpu ? sum_on_gpu(first, end, width) : sum_on_host(first, end, width);
  double total = 0;
  MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("pi = %.11f by %lld cells, ranks: %d, %s, off by %.0e\n", total * width, cells,
                ranks, gpu ? "each with a GPU" : "no GPU here: on the host",
                std::abs(total * width - std::numbers::pi));
  MPI_Finalize();
}
