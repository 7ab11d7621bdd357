// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times passes of several sweeps over a square or cubic grid, and checks them against plain sweeps.
// `run` defines AXES (2 or 3), CELL (a type), UPDATE (a formula) and LABEL (what rows of the output
// begin with).

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using Real = CELL;

inline void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

// Each thread of the kernels here has one cell.
__device__ std::size_t own_cell() { return blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; }
__device__ bool is_inside(std::size_t cell, int width, int margin) {
  for (int axis = 0; axis < AXES; ++axis, cell /= width) {
    const auto at = static_cast<int>(cell % width);
    if (at < margin || at >= width - margin) return false;
  }
  return cell == 0;  // not behind the last one
}

/// Writes the same noise from 0 to 1 to four levels.
__global__ void fill(Real* levels, std::size_t size) {
  const std::size_t i = own_cell();
  const auto noise = Real((i ^ i >> 15) * 0x9E3779B97F4A7C15 >> 40) / Real(1 << 24);
  for (int level = 0; i < size && level < 4; ++level) levels[level * size + i] = noise;
}

/// Sweeps once; the outermost cells stay as they are.
__global__ void sweep(const Real* in, Real* out, int width) {
  const std::size_t i = own_cell();
  if (!is_inside(i, width, 1)) return;
  const Real up = in[i - width], left = in[i - 1], right = in[i + 1], down = in[i + width];
  const std::size_t plane = AXES == 3 ? std::size_t(width) * width : 0;  // 2-D updates name none
  [[maybe_unused]] const Real centre = in[i], front = in[i - plane], back = in[i + plane];
  out[i] = UPDATE;
}

/// The bits of a positive double, which compare as doubles do.
__device__ unsigned long long worst_bits;

/// Finds the largest difference: a relative one, since published updates make all values small.
__global__ void compare(const Real* tried, const Real* plain, int width, int margin) {
  const std::size_t i = own_cell();
  if (!is_inside(i, width, margin) || tried[i] == plain[i]) return;
  const double gap = fabs((double{tried[i]} - plain[i]) / plain[i]);
  const auto bits = __double_as_longlong(gap < 1e9 ? gap : 1e9);  // the latter if it is no number
  if (bits > worst_bits) atomicMax(&worst_bits, bits);
}

/// A way to do passes, and what was measured of it.
struct Way {
  int sweeps;          ///< in a pass
  int margin;          ///< cells at the edge that it computes otherwise
  bool published;      ///< launched as its authors did
  std::string launch;  ///< in their words

  double best_us = INFINITY, median_us = INFINITY;  ///< a sweep; infinite unless it is right
  std::string check{};
};

/// Measures ways to sweep over one grid. At the end it prints the published ones, the fastest and
/// those that failed.
class Bench {
 public:
  const int cells, width;  ///< along an axis, without and with edges that no sweep changes

  Bench(int cells, int width) : cells(cells), width(width) {
    must(cudaMalloc(&levels_, 4 * size_ * sizeof(Real)));
    for (cudaEvent_t* event : {&begin_, &end_}) must(cudaEventCreate(event));
  }
  ~Bench() {
    const auto best = std::min_element(ways_.begin(), ways_.end(), [](const Way& a, const Way& b) {
      return a.best_us < b.best_us;
    });
    for (auto way = ways_.begin(); way != ways_.end(); ++way) {
      const bool failed = std::isinf(way->best_us), fastest = way == best && !failed;
      if (!way->published && !fastest && !failed) continue;
      std::printf("%c%c " LABEL " %2d %-17s %5d %8.2f %8.2f %7.1f  %s\n",
                  way->published ? 'P' : ' ', fastest ? 'B' : ' ', way->sweeps, way->launch.c_str(),
                  cells, way->best_us, way->median_us, 1e-3 * std::pow(cells, AXES) / way->best_us,
                  way->check.c_str());
    }
    std::fflush(stdout);
    cudaFree(levels_);
  }

  /// Passes read and write levels 0 and 1, plain sweeps 2 and 3.
  Real* level(int number) const { return levels_ + number * size_; }

  /// `pass(i)` queues pass i, from level i % 2 to the other.
  template <class Pass>
  void measure(Way way, const Pass& pass) {
    constexpr int rounds = 5;
    constexpr double round_ms = 12, tolerance = sizeof(Real) == 4 ? 1e-5 : 1e-12;
    ms_of(2, pass);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {  // such as too few registers for a block
      way.check = cudaGetErrorString(error);
      ways_.push_back(way);
      return;
    }
    const double worst = difference(way, pass);
    char text[40] = "same bits";
    if (worst > 0)
      std::snprintf(text, sizeof text, worst < tolerance ? "within %.1e" : "WRONG by %.1e", worst);
    way.check = text;

    const int passes = 2 * std::clamp(static_cast<int>(round_ms / ms_of(2, pass)), 2, 2000);
    ms_of(passes, pass);  // warms up
    std::vector<double> us;
    for (int i = 0; i < rounds; ++i) us.push_back(ms_of(passes, pass) * 1e3 / passes / way.sweeps);
    std::sort(us.begin(), us.end());
    if (worst < tolerance) way.best_us = us.front(), way.median_us = us[rounds / 2];
    ways_.push_back(way);
  }

 private:
  /// Returns milliseconds of passes that begin with the noise.
  template <class Pass>
  float ms_of(int passes, const Pass& pass) {
    fill<<<blocks_, 256>>>(levels_, size_);
    must(cudaEventRecord(begin_));
    for (int i = 0; i < passes; ++i) pass(i);
    must(cudaEventRecord(end_));
    must(cudaEventSynchronize(end_));
    float ms = 0;
    must(cudaEventElapsedTime(&ms, begin_, end_));
    return ms;
  }

  /// Returns the largest difference of two passes from plain sweeps.
  template <class Pass>
  double difference(const Way& way, const Pass& pass) {
    double worst = 0;
    must(cudaMemcpyToSymbol(worst_bits, &worst, sizeof worst));
    ms_of(2, pass);
    for (int i = 0; i < 2 * way.sweeps; ++i)
      sweep<<<blocks_, 256>>>(level(2 + i % 2), level(3 - i % 2), width);
    compare<<<blocks_, 256>>>(level(0), level(2), width, way.margin);
    must(cudaMemcpyFromSymbol(&worst, worst_bits, sizeof worst));
    must(cudaGetLastError());
    return worst;
  }

  std::size_t size_ = std::size_t(width) * width * (AXES == 3 ? width : 1);
  unsigned blocks_ = static_cast<unsigned>((size_ + 255) / 256);
  Real* levels_ = nullptr;
  cudaEvent_t begin_{}, end_{};
  std::vector<Way> ways_;
};
