// SPDX-License-Identifier: Apache-2.0
#pragma once
// One sweep of laplace.hpp on a GPU, and a run of them, by calls in a stream or as a graph.

#include <optional>

#include "gpu.cuh"
#include "laplace.hpp"

namespace laplace {

// Rows 1 to `rows`; the largest change goes to *norm, whose bits grow with it.
__global__ void sweep(const float* from, float* to, float* norm, int cells, int rows) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) + 1;
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y) + 1;
  int change = 0;
  if (x <= cells && y <= rows) {
    const long long row = cells + 2, i = y * row + x;
    const float value = 0.25f * ((from[i - 1] + from[i + 1]) + (from[i - row] + from[i + row]));
    to[i] = value;
    change = __float_as_int(fabsf(value - from[i]));
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const int other = __shfl_xor_sync(~0u, change, lanes);
    change = change > other ? change : other;
  }
  if (threadIdx.x == 0 && change > 0) atomicMax(reinterpret_cast<int*>(norm), change);
}

inline void launch_sweep(const Case& given, Rows rows, const float* from, float* to, float* norm,
                         cudaStream_t stream) {
  cudaLaunchConfig_t shape{};  // as <<<>>>, but for every compiler
  shape.blockDim = dim3(32, 8);
  shape.gridDim =
      dim3(static_cast<unsigned>(given.cells + 31) / 32, static_cast<unsigned>(rows.count + 7) / 8);
  shape.stream = stream;
  check(cudaLaunchKernelEx(&shape, sweep, from, to, norm, given.cells, rows.count), "a sweep");
}

/// Two levels and a norm for each sweep, in memory of the GPU that the caller has allocated.
struct Memory {
  float *levels[2], *norms;
};

/// Writes the start to both levels, and zeros to the norms. Collective.
inline void prepare(const Case& given, Rows rows, const Memory& memory) {
  const std::vector<float> start = start_level(given, rows);
  for (float* level : memory.levels)
    check(cudaMemcpy(level, start.data(), start.size() * sizeof(float), cudaMemcpyHostToDevice),
          "writing the start");
  check(cudaMemset(memory.norms, 0, static_cast<std::size_t>(given.sweeps) * sizeof(float)),
        "clearing the norms");
  check(cudaDeviceSynchronize(), "the start");
  MPI_Barrier(MPI_COMM_WORLD);
}

inline Result read_result(const Case& given, Rows rows, const Memory& memory, std::string name,
                          double seconds) {
  Result result{std::move(name), seconds, {}, {}};
  result.level.resize(given.values(rows.count));
  result.norms.resize(static_cast<std::size_t>(given.sweeps));
  check(cudaMemcpy(result.level.data(), memory.levels[given.sweeps % 2],
                   result.level.size() * sizeof(float), cudaMemcpyDeviceToHost),
        "reading the result");
  check(cudaMemcpy(result.norms.data(), memory.norms, result.norms.size() * sizeof(float),
                   cudaMemcpyDeviceToHost),
        "reading the norms");
  return result;
}

/// Runs `sweeps(stream)`, which queues all of them, after prepare(). Collective.
template <class Sweeps>
Result run(const Case& given, Rows rows, const Memory& memory, cudaStream_t stream,
           std::string name, const Sweeps& sweeps) {
  prepare(given, rows, memory);
  const double begun = MPI_Wtime();
  sweeps(stream);
  check(cudaStreamSynchronize(stream), "the sweeps");
  return read_result(given, rows, memory, std::move(name), MPI_Wtime() - begun);
}

/// The same, recorded as one graph; nothing if a call cannot be recorded. Collective.
template <class Sweeps>
std::optional<Result> run_graph(const Case& given, Rows rows, const Memory& memory,
                                cudaStream_t stream, std::string name, const Sweeps& sweeps) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t recorded = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording");
  sweeps(stream);
  const cudaError_t error = cudaStreamEndCapture(stream, &graph);
  int is_recorded = error == cudaSuccess;
  MPI_Allreduce(MPI_IN_PLACE, &is_recorded, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (is_recorded == 0) {
    std::fprintf(stderr, "%s: not recorded, %s\n", name.c_str(), cudaGetErrorString(error));
    return std::nullopt;
  }
  check(cudaGraphInstantiate(&recorded, graph, 0), "making a graph");
  Result result = run(given, rows, memory, stream, std::move(name), [&](cudaStream_t) {
    check(cudaGraphLaunch(recorded, stream), "launching the graph");
  });
  check(cudaGraphExecDestroy(recorded), "destroying a graph");
  check(cudaGraphDestroy(graph), "destroying a graph");
  return result;
}

}  // namespace laplace
