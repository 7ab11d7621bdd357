// SPDX-License-Identifier: Apache-2.0
// Measures sweeps of a problem whose formulas are compiled when the program runs, in several shapes
// of walks, to choose those that sweeps try by.
//
//   bench_gpu_formula_shapes PROBLEM NXxNY[xNZ] f32|f64 SHAPE ...
//   SHAPE: AHEAD,ROWS,BLOCKS,LAYERS,FETCHED,CARRIES[,STEPS]    of stencil/cuda/walks/march.cuh,
//   with STEPS
//          of march_planes.cuh; CARRIES: 0 or 1
//
// Microseconds per sweep, best of five rounds, next to a copy of as many bytes as one field has.
// Every shape must make the same bits.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <halocline/error.hpp>
#include <halocline/field.hpp>

#include "compiler/cuda/compiler.hpp"
#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "problem/catalogue.hpp"
#include "program/noise.hpp"
#include "stencil/cuda/text/kernel_headers.hpp"
#include "stencil/cuda/walks/launches.cuh"

namespace {

using namespace halocline;
using namespace halocline::stencil::cuda;
using halocline::stencil::most_inputs;
using Clock = std::chrono::steady_clock;

struct Tried {
  WalkShape shape;
  std::size_t block_bytes = 0;
  compiler::Code code{};
  double compile_seconds = 0;
};

WalkShape read_shape(const char* text) {
  WalkShape shape{};
  int carries = 0;
  if (std::sscanf(text, "%d,%d,%d,%d,%d,%d,%d", &shape.ahead, &shape.rows, &shape.blocks,
                  &shape.layers, &shape.fetched, &carries, &shape.steps) < 6)
    throw Error(ErrorKind::usage, std::string("six numbers or more are expected, not ") + text);
  shape.carries = carries != 0;
  return shape;
}

template <class Real_>
class OneShape final : public Kernels<Real_, most_inputs, most_outputs> {
 public:
  using typename Kernels<Real_, most_inputs, most_outputs>::Kernel;

  OneShape(const Tried& tried, const PrintedUpdate& update)
      : shape_(tried.shape),
        constants_(constants_in<Real_>(update)),
        block_bytes_(tried.block_bytes),
        module_(tried.code),
        kernel_(module_.kernel<std::remove_pointer_t<Kernel>>()) {
    device::cuda::load(kernel_);
  }
  bool marches(bool over_bricks) const override { return !over_bricks; }
  March<Kernel> march(stencil::cuda::Norm) const override {
    return march_with(kernel_, shape_.ahead, shape_.rows, shape_.layers, block_bytes_);
  }
  Kernel per_cell(stencil::cuda::Norm) const override {
    throw Error(ErrorKind::internal, "the fields are not as the walks need them");
  }
  PrintedConstants<Real_> constants() const override { return constants_; }
  int rows_of_pushing_tile() const override { return 0; }
  std::size_t spilled() const { return device::cuda::spilled_bytes(kernel_); }

 private:
  WalkShape shape_;
  PrintedConstants<Real_> constants_;
  std::size_t block_bytes_;
  compiler::Module module_;
  Kernel kernel_;
};

template <class Work>
double best_us(Stream stream, const Work& work) {
  constexpr int rounds = 5, runs = 40;
  double best = 1e30;
  for (int round = 0; round <= rounds; ++round) {
    const auto begun = Clock::now();
    for (int i = 0; i < runs; ++i) work(i);
    device::synchronize(stream);
    const std::chrono::duration<double, std::micro> took = Clock::now() - begun;
    if (round > 0) best = std::min(best, took.count() / runs);  // the first warms up
  }
  return best;
}

template <class Real>
class Bench {
 public:
  Bench(const problem::Model& model, const std::string& what) : model_(model), what_(what) {
    const HaloWidths reach = model.reach();
    const Grid grid(0, 1, {.cells = Extents(model.cells, model.axes)});
    owned_ = grid.owned();
    const auto fill = [&](std::vector<FieldStorage>& fields, std::size_t count) {
      for (std::size_t f = 0; f < count; ++f) {
        all_.emplace_back(grid, FieldOptions{.name = "u", .halo = reach, .memory = Memory::device});
        fields.push_back(all_.back());
        noise(all_.back(), f);
      }
    };
    all_.reserve(2 * model.fields.size() + model.coefficients.size());
    fill(levels_[0], model.fields.size());
    fill(levels_[1], model.fields.size());
    fill(coefficients_, model.coefficients.size());
  }

  void copy() const {
    const auto bytes = static_cast<std::int64_t>(sizeof(Real)) * owned_.cells();
    const double us = best_us(stream_.get(), [&](int i) {
      device::copy(levels_[1 - i % 2][0].bytes(), levels_[i % 2][0].bytes(), bytes, stream_.get());
    });
    std::printf("%-28s copy of a field %42.1f us\n", what_.c_str(), us);
  }

  void measure(const Tried& tried, const PrintedUpdate& update) {
    auto kernels = std::make_unique<OneShape<Real>>(tried, update);
    const std::size_t spilled = kernels->spilled();
    const std::int64_t resident = kernels->march(stencil::cuda::Norm::none).at_once;
    if (tried.block_bytes > 0 && resident == 0) {
      std::printf("%-28s ahead %d rows %d: a block's memory has no room for %zu bytes\n",
                  what_.c_str(), tried.shape.ahead, tried.shape.rows, tried.block_bytes);
      return;
    }
    CudaSweep<Kernels<Real, most_inputs, most_outputs>> sweep(std::move(kernels), update.operands,
                                                              model_);
    const auto run = [&](int i) {
      stencil::Pass pass{.in = levels_[i % 2], .out = levels_[1 - i % 2], .region = owned_};
      for (std::size_t axis = 0; axis < 3; ++axis)
        pass.wraps[axis] = model_.periodic[axis] && axis < static_cast<std::size_t>(model_.axes);
      pass.coefficients = coefficients_;
      sweep.run(pass, stream_.get());
    };
    const double us = best_us(stream_.get(), run);
    noise(levels_[0][0], 0);
    run(0);
    device::synchronize(stream_.get());
    std::vector<std::byte> bytes(static_cast<std::size_t>(levels_[1][0].allocated_bytes()));
    device::copy(bytes.data(), levels_[1][0].bytes(), levels_[1][0].allocated_bytes(),
                 Stream::host());
    if (expected_.empty()) expected_ = bytes;
    const WalkShape& s = tried.shape;
    std::printf(
        "%-28s ahead %2d rows %d blocks %d layers %2d fetched %d carries %d steps %d: %9.1f us "
        "%7.1f GLUP/s, %4zu bytes spilled, %3lld blocks of %6zu bytes, compiled in %.1f s%s\n",
        what_.c_str(), s.ahead, s.rows, s.blocks, s.layers, s.fetched, s.carries ? 1 : 0, s.steps,
        us, static_cast<double>(owned_.cells()) / us * 1e-3, spilled,
        static_cast<long long>(resident), tried.block_bytes, tried.compile_seconds,
        bytes == expected_ ? "" : "  WRONG: other bits than the first shape");
    std::fflush(stdout);
  }

 private:
  void noise(const FieldStorage& field, std::size_t number) {
    const auto count = static_cast<std::size_t>(field.allocated_bytes()) / sizeof(Real);
    std::vector<Real> values(std::min<std::size_t>(count, std::size_t{1} << 24));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<Real>(program::noise(1 + number, i));
    for (std::size_t at = 0; at < count; at += values.size())
      device::copy(field.bytes() + at * sizeof(Real), values.data(),
                   static_cast<std::int64_t>(std::min(values.size(), count - at) * sizeof(Real)),
                   Stream::host());
  }

  const problem::Model& model_;
  std::string what_;
  Box owned_{};
  std::vector<Field<Real>> all_;
  std::vector<FieldStorage> levels_[2], coefficients_;
  std::vector<std::byte> expected_;
  device::OwnedStream stream_;
};

template <class Real>
void measure_all(const problem::Model& model, const std::string& what,
                 const std::vector<Tried>& all, const PrintedUpdate& update) {
  Bench<Real> bench(model, what);
  bench.copy();
  for (const Tried& tried : all) bench.measure(tried, update);
}

void run(int argc, char** argv) {
  if (argc < 5) throw Error(ErrorKind::usage, "usage: PROBLEM CELLS f32|f64 SHAPE ...");
  if (device::gpus().list.empty()) throw Error(ErrorKind::unavailable, device::gpus().none_because);
  device::use(device::gpus().list.front());
  const problem::ProblemText text = problem::find_problem(argv[1]);
  problem::Choices choices{.precision =
                               std::strcmp(argv[3], "f32") == 0 ? Precision::f32 : Precision::f64};
  long long n[3] = {1, 1, 1};
  const int axes = std::sscanf(argv[2], "%lldx%lldx%lld", &n[0], &n[1], &n[2]);
  choices.cells.assign(n, n + axes);
  const problem::Model model = problem::model_of(problem::read_text(text.name, text.text), choices);
  const PrintedUpdate update = print_update(model);
  std::vector<Tried> all;
  for (int i = 4; i < argc; ++i) {
    const WalkShape shape = read_shape(argv[i]);
    all.push_back({.shape = shape, .block_bytes = block_bytes_of(model, update, shape)});
  }
  std::vector<std::thread> threads;
  for (Tried& tried : all)
    threads.emplace_back([&] {
      const device::Gpu& gpu = device::gpus().list.front();
      device::use(gpu);
      const auto begun = Clock::now();
      tried.code =
          compiler::compile({.text = update.source,
                             .headers = kernel_headers(),
                             .kernel = name_of_march(model, halocline::Norm::none, tried.shape)},
                            10 * gpu.major + gpu.minor);
      tried.compile_seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    });
  for (std::thread& thread : threads) thread.join();
  const std::string what = std::string(argv[1]) + " " + argv[2] + " " + argv[3];
  if (model.precision == Precision::f32)
    measure_all<float>(model, what, all, update);
  else
    measure_all<double>(model, what, all, update);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "bench_gpu_formula_shapes: %s\n", error.what());
    return error.kind() == ErrorKind::usage ? 2 : 3;
  }
}
