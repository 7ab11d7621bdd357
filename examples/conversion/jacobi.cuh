// SPDX-License-Identifier: Apache-2.0
// The common part of both programs: the lab's problem, its kernels, and the report of a run.
#pragma once

#include <cuda_runtime.h>
#include <mpi.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA(call)                                                         \
  do {                                                                     \
    const cudaError_t status = (call);                                     \
    if (status != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)); \
      MPI_Abort(MPI_COMM_WORLD, 4);                                        \
    }                                                                      \
  } while (0)

struct Options {
  int nx = 1024, ny = 1024;  // the frame included, as the lab counts
  int sweeps = 1000;
};

inline Options read_options(int count, char** words) {
  Options options;
  if (count > 1) options.nx = std::atoi(words[1]);
  if (count > 2) options.ny = std::atoi(words[2]);
  if (count > 3) options.sweeps = std::atoi(words[3]);
  if (options.nx < 3 || options.ny < 3 || options.sweeps < 1) {
    std::fprintf(stderr, "usage: %s [NX [NY [SWEEPS]]], NX and NY at least 3\n", words[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return options;
}

// Rows of nx values; 0 and rows + 1 are the halo. Updates rows 1 to `rows`, and adds the squares of
// the changes to *change.
__global__ void jacobi(const float* from, float* to, float* change, int nx, int rows) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) + 1;
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y) + 1;
  float square = 0;
  if (x < nx - 1 && y <= rows) {
    const std::int64_t i = static_cast<std::int64_t>(y) * nx + x;
    const float value = 0.25f * ((from[i - 1] + from[i + 1]) + (from[i - nx] + from[i + nx]));
    to[i] = value;
    square = (value - from[i]) * (value - from[i]);
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) square += __shfl_xor_sync(~0u, square, lanes);
  if (threadIdx.x == 0 && square > 0) atomicAdd(change, square);
}

inline void launch_jacobi(const float* from, float* to, float* change, int nx, int rows,
                          cudaStream_t stream) {
  cudaLaunchConfig_t how{};
  how.blockDim = dim3(32, 8);
  how.gridDim = dim3(static_cast<unsigned>(nx - 2 + 31) / 32, static_cast<unsigned>(rows + 7) / 8);
  how.stream = stream;
  CUDA(cudaLaunchKernelEx(&how, jacobi, from, to, change, nx, rows));
}

// Two time levels on the GPU: zero, with sin(2 pi row / (ny - 1)) in the first and last column.
// `first` is the global row of row 1, 1 on the first rank; y is periodic.
inline void make_levels(float* (&levels)[2], int nx, int ny, int first, int rows) {
  const double pi = 3.14159265358979323846;
  std::vector<float> start(static_cast<std::size_t>(nx) * (rows + 2));
  for (int y = 0; y < rows + 2; ++y) {
    const int row = (first + y - 2 + (ny - 2)) % (ny - 2) + 1;
    const auto value = static_cast<float>(std::sin(2 * pi * row / (ny - 1)));
    start[static_cast<std::size_t>(y) * nx] = value;
    start[static_cast<std::size_t>(y) * nx + nx - 1] = value;
  }
  for (float*& level : levels) {
    CUDA(cudaMalloc(&level, start.size() * sizeof(float)));
    CUDA(cudaMemcpy(level, start.data(), start.size() * sizeof(float), cudaMemcpyHostToDevice));
  }
}

// Tells the norm of a sweep, every hundredth.
inline void tell_norm(int rank, int sweep, double norm) {
  if (rank == 0 && sweep % 100 == 0) std::printf("%5d, %0.6f\n", sweep, norm);
}

// Tells time and rate, and a sum of all values' bits, which knows no order.
inline void tell_end(int rank, const Options& options, const float* level, int rows,
                     double seconds) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(options.nx) * rows);
  CUDA(cudaMemcpy(bits.data(), level + options.nx, bits.size() * 4, cudaMemcpyDeviceToHost));
  std::uint64_t mine = 0, sum = 0;
  for (const std::uint32_t word : bits) mine += word;
  MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("%dx%d: %.4f s, %.1f us per sweep, bits %016llx\n", options.nx, options.ny, seconds,
                1e6 * seconds / options.sweeps, static_cast<unsigned long long>(sum));
}
