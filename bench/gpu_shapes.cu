// SPDX-License-Identifier: Apache-2.0
// Measures the march kernel in other shapes than the one that sweeps use, to choose that one by.
//
//   bench_gpu_shapes [repetitions] [layers]      layers that a warp walks; 0: 8 to 64
//
// Microseconds per sweep over device memory, best of the repetitions, next to a copy of as many
// bytes.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "device/buffer.hpp"
#include "device/cuda/launch.cuh"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "problem/formulas.hpp"
#include "stencil/cuda/march.cuh"

namespace {

using namespace halocline;
using namespace halocline::stencil::cuda;

struct Run {
  int repetitions;
  std::vector<int> layers;
};

/// Best microseconds of a call, from events around 20.
template <class Call>
double best_of(int repetitions, cudaStream_t stream, const Call& call) {
  cudaEvent_t begun = nullptr, ended = nullptr;
  cudaEventCreate(&begun);
  cudaEventCreate(&ended);
  double best = 1e30;
  for (int r = 0; r < repetitions + 1; ++r) {
    cudaEventRecord(begun, stream);
    for (int i = 0; i < 20; ++i) call(i);
    cudaEventRecord(ended, stream);
    cudaEventSynchronize(ended);
    float ms = 0;
    cudaEventElapsedTime(&ms, begun, ended);
    if (r > 0) best = std::min(best, static_cast<double>(ms) * 1e3 / 20);  // the first warms up
  }
  cudaEventDestroy(begun);
  cudaEventDestroy(ended);
  return best;
}

/// Two levels of n^axes cells with a halo, and what a sweep over them needs.
template <class Real, int axes>
class Arena {
 public:
  explicit Arena(Index n) : n_(n), row_((n + 2 + 63) / 64 * 64) {
    const Index plane = row_ * (n + 2), planes = axes == 3 ? n + 2 : 1;
    bytes_ = (plane * planes + 128) * static_cast<Index>(sizeof(Real));
    for (auto& level : levels_) level = device::allocate(Memory::device, bytes_);
    parts_ = device::allocate(Memory::device, stencil::bytes_of_partial_norms);
  }

  Work<Real> work(int i, int layers) const {
    Work<Real> work{};
    const Index first = 64 + row_ + (axes == 3 ? row_ * (n_ + 2) : 0);
    work.in[0].cell = static_cast<const Real*>(levels_[i % 2].get()) + first;
    work.out[0].cell = static_cast<Real*>(levels_[1 - i % 2].get()) + first;
    const Index steps[3] = {1, row_, row_ * (n_ + 2)};
    for (int axis = 0; axis < 3; ++axis) {
      work.in[0].step[axis] = work.out[0].step[axis] = steps[axis];
      work.cells[axis] = axis < axes ? n_ : 1;
      work.owned.upper[axis] = work.cells[axis];
    }
    work.layers = layers;
    work.parts = static_cast<stencil::PartialNorms*>(parts_.get());
    return work;
  }
  double copy_us(const Run& run, cudaStream_t stream) const {
    const auto bytes = static_cast<std::size_t>(axes == 2 ? n_ * n_ : n_ * n_ * n_) * sizeof(Real);
    return best_of(run.repetitions, stream, [&](int i) {
      cudaMemcpyAsync(levels_[1 - i % 2].get(), levels_[i % 2].get(), bytes,
                      cudaMemcpyDeviceToDevice, stream);
    });
  }

 private:
  Index n_, row_, bytes_ = 0;
  std::shared_ptr<void> levels_[2], parts_;
};

template <class Shape, Norm kind, int axes, class Real, class Formula>
void measure(const char* what, const Arena<Real, axes>& arena, const Formula& formula,
             const Run& run, cudaStream_t stream) {
  using Update = OneField<Formula, axes>;
  const auto kernel = march<kind, axes, Shape, Real, Update, 1, 1>;
  cudaFuncAttributes facts{};
  cudaFuncGetAttributes(&facts, kernel);
  std::printf("%-22s ahead %2d rows %d blocks %d, %3d registers:", what, Shape::ahead, Shape::rows,
              Shape::blocks, facts.numRegs);
  for (const int layers : run.layers) {
    const auto tiles = Tiles<Real, axes>::of(arena.work(0, layers), Shape::rows).count();
    const double us = best_of(run.repetitions, stream, [&](int i) {
      device::cuda::launch(kernel, device::cuda::blocks_for(tiles, block_warps, 65536),
                           block_threads, Stream::cuda(stream), arena.work(i, layers), ReduceWork{},
                           Update{formula});
    });
    std::printf("  %d: %.1f", layers, us);
  }
  std::printf("\n");
  std::fflush(stdout);
}

template <class Real>
void measure_2d(const char* what, Index n, const Run& run, cudaStream_t stream) {
  const Arena<Real, 2> arena(n);
  const problem::AverageFormula<2, Real> laplace{Real(0.25)};
  std::printf("%-24s copy %.1f us\n", what, arena.copy_us(run, stream));
  measure<Shape<1, 1, 1>, Norm::max>(what, arena, laplace, run, stream);
  measure<Shape<2, 1, 1>, Norm::max>(what, arena, laplace, run, stream);
  measure<Shape<4, 1, 1>, Norm::max>(what, arena, laplace, run, stream);
  measure<Shape<4, 1, 3>, Norm::max>(what, arena, laplace, run, stream);
  measure<Shape<8, 1, 1>, Norm::max>(what, arena, laplace, run, stream);
  measure<Shape<16, 1, 1>, Norm::max>(what, arena, laplace, run, stream);
  measure<Shape<10, 1, 1>, Norm::max>(what, arena, laplace, run, stream);
  measure<Shape<12, 1, 1>, Norm::max>(what, arena, laplace, run, stream);
  measure<Shape<12, 1, 1>, Norm::none>(what, arena, laplace, run, stream);
}

template <class Real>
void measure_3d(const char* what, Index n, const Run& run, cudaStream_t stream) {
  const Arena<Real, 3> arena(n);
  const problem::AverageFormula<3, Real> laplace{Real(1) / Real(6)};
  std::printf("%-24s copy %.1f us\n", what, arena.copy_us(run, stream));
  measure<Shape<1, 1, 1>, Norm::none>(what, arena, laplace, run, stream);
  measure<Shape<1, 2, 1>, Norm::none>(what, arena, laplace, run, stream);
  measure<Shape<2, 2, 1>, Norm::none>(what, arena, laplace, run, stream);
  measure<Shape<2, 2, 2>, Norm::none>(what, arena, laplace, run, stream);
  measure<Shape<4, 2, 1>, Norm::none>(what, arena, laplace, run, stream);
  measure<Shape<1, 4, 2>, Norm::none>(what, arena, laplace, run, stream);
}

}  // namespace

int main(int argc, char** argv) {
  Run run{argc > 1 ? std::max(1, std::atoi(argv[1])) : 5, {8, 12, 16, 20, 24, 30, 64}};
  if (argc > 2 && std::atoi(argv[2]) > 0) run.layers = {std::atoi(argv[2])};
  if (device::gpus().list.empty()) {
    std::fprintf(stderr, "bench_gpu_shapes: %s\n", device::gpus().none_because.c_str());
    return 3;
  }
  device::use(device::gpus().list.front());
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  measure_2d<float>("laplace 16384^2 f32", 16384, run, stream);
  measure_2d<double>("laplace 16384^2 f64", 16384, run, stream);
  measure_2d<float>("laplace 2048^2 f32", 2048, run, stream);
  measure_3d<double>("laplace 512^3 f64", 512, run, stream);
  measure_3d<double>("laplace 500^3 f64", 500, run, stream);
  measure_3d<float>("laplace 512^3 f32", 512, run, stream);
  measure_3d<double>("laplace 256^3 f64", 256, run, stream);
}
