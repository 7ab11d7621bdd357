// SPDX-License-Identifier: Apache-2.0
// Measures sweeps of the cuda backend on one GPU next to plain copies of as many bytes, in one
// process: a sweep that reads and writes every cell once can be as fast as the copy, and no faster.
//
//   bench_gpu_sweep [repetitions] [part of a case's name]

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>
#include <halocline/field.hpp>

#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "problem/catalogue.hpp"
#include "problem/model.hpp"
#include "program/noise.hpp"
#include "stencil/sweep.hpp"

namespace {

using namespace halocline;
using Clock = std::chrono::steady_clock;

struct Case {
  const char* problem;
  Extents cells;
  Precision precision;
  Norm norm;
  int norm_every;

  double updates() const {
    const Int3& n = cells.values();
    return static_cast<double>(n.x) * static_cast<double>(n.y) * static_cast<double>(n.z);
  }
  std::string name() const {
    std::string size = fmt::format("{}", cells[0]);
    for (int axis = 1; axis < cells.axes(); ++axis) size += fmt::format("x{}", cells[axis]);
    return fmt::format("{} {} {} {}/{}", problem, size, name_of(precision), name_of(norm),
                       norm_every);
  }
};

// The rows of one GPU, and those of the tutorial; each with and without its norm.
const Case cases[] = {
    {"laplace", {16384, 16384}, Precision::f32, Norm::max, 1},
    {"laplace", {16384, 16384}, Precision::f32, Norm::l2, 1},
    {"laplace", {16384, 16384}, Precision::f32, Norm::none, 1},
    {"laplace", {16384, 16384}, Precision::f64, Norm::max, 1},
    {"laplace", {16384, 16384}, Precision::f64, Norm::none, 1},
    {"laplace", {4096, 4096}, Precision::f32, Norm::max, 1},
    {"laplace", {4096, 4096}, Precision::f32, Norm::max, 100},
    {"laplace", {2048, 2048}, Precision::f32, Norm::max, 1},
    {"laplace", {2048, 2048}, Precision::f32, Norm::max, 100},
    {"laplace", {20000, 20000}, Precision::f64, Norm::max, 1},
    {"star7", {512, 512, 512}, Precision::f64, Norm::none, 1},
    {"star7", {500, 500, 500}, Precision::f64, Norm::none, 1},
    {"star7", {512, 512, 512}, Precision::f32, Norm::none, 1},
    {"laplace", {512, 512, 512}, Precision::f64, Norm::max, 1},
    {"heat", {512, 512, 512}, Precision::f64, Norm::max, 1},
    {"heat", {100'000'000}, Precision::f64, Norm::max, 1},
};

problem::Model model_of(const Case& c) {
  const problem::ProblemText text = problem::find_problem(c.problem);
  problem::Choices choices{.precision = c.precision};
  for (int axis = 0; axis < c.cells.axes(); ++axis) choices.cells.push_back(c.cells[axis]);
  return problem::model_of(problem::read_text(text.name, text.text), choices);
}

struct Times {
  double best, median, worst;
};

/// Microseconds of one run, from `repetitions` rounds of about 100 ms.
template <class Run>
Times time_of(int repetitions, Stream stream, const Run& run) {
  const auto seconds_of = [&](int runs) {
    const auto start = Clock::now();
    for (int i = 0; i < runs; ++i) run(i);
    device::synchronize(stream);
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  seconds_of(3);
  const int runs =
      static_cast<int>(std::clamp(0.1 / std::max(seconds_of(10) / 10, 1e-7), 20.0, 20'000.0));
  std::vector<double> us;
  for (int r = 0; r < repetitions; ++r) us.push_back(seconds_of(runs) / runs * 1e6);
  std::sort(us.begin(), us.end());
  return {us.front(), us[us.size() / 2], us.back()};
}

/// Noise, so that no arithmetic meets numbers it would not meet in a run.
template <class Real>
void fill(const FieldStorage& field) {
  const auto count = static_cast<std::size_t>(field.allocated_bytes()) / sizeof(Real);
  std::vector<Real> values(std::min<std::size_t>(count, std::size_t{1} << 24));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<Real>(program::noise(1, i));
  for (std::size_t at = 0; at < count; at += values.size())
    device::copy(field.bytes() + at * sizeof(Real), values.data(),
                 static_cast<std::int64_t>(std::min(values.size(), count - at) * sizeof(Real)),
                 Stream::host());
}

template <class Real>
void measure(const Case& c, int repetitions) {
  const Grid grid(0, 1, {.cells = c.cells});
  const FieldOptions options{.name = "u", .memory = Memory::device};
  const Field<Real> fields[2] = {Field<Real>(grid, options), Field<Real>(grid, options)};
  for (const auto& field : fields) fill<Real>(field);
  const device::OwnedStream stream;

  const problem::Model model = model_of(c);
  const auto sweep = stencil::find_backend("cuda").make(model, {});
  // As in a run: a norm is reduced while the next sweep runs.
  const auto norm = device::allocate(Memory::device, sizeof(double));
  const std::shared_ptr<void> parts[2] = {
      device::allocate(Memory::device, stencil::bytes_of_partial_norms),
      device::allocate(Memory::device, stencil::bytes_of_partial_norms)};
  const auto parts_of = [&](int i) {
    return static_cast<stencil::PartialNorms*>(parts[i % 2].get());
  };
  const auto has_norm = [&](int i) {
    return i >= 0 && c.norm != Norm::none && i % c.norm_every == 0;
  };
  const auto run_sweep = [&](int i) {
    stencil::Pass pass{.in = fields[i % 2],
                       .out = fields[1 - i % 2],
                       .region = grid.owned(),
                       .norms = {.kind = has_norm(i) ? c.norm : Norm::none}};
    if (has_norm(i)) pass.norms.parts = parts_of(i);
    if (has_norm(i - 1))
      pass.reduction = {
          .parts = parts_of(i - 1), .kind = c.norm, .norm = static_cast<double*>(norm.get())};
    sweep->run(pass, stream.get());
  };
  const auto bytes = static_cast<std::int64_t>(c.updates()) * std::int64_t{sizeof(Real)};
  const auto run_copy = [&](int i) {
    device::copy(fields[1 - i % 2].bytes(), fields[i % 2].bytes(), bytes, stream.get());
  };

  const Times copied = time_of(repetitions, stream.get(), run_copy);
  const Times swept = time_of(repetitions, stream.get(), run_sweep);
  fmt::print("{:<36} {:>9.2f} {:>9.2f} {:>9.2f} {:>8.1f} {:>9.2f} {:>8.0f} {:>6.1f}\n", c.name(),
             swept.best, swept.median, swept.worst, c.updates() / swept.median * 1e-3,
             copied.median, 2 * static_cast<double>(bytes) / copied.median * 1e-3,
             100 * copied.median / swept.median);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  const std::string wanted = argc > 2 ? argv[2] : "";
  try {
    if (device::gpus().list.empty())
      throw Error(ErrorKind::unavailable, device::gpus().none_because);
    const device::Gpu& gpu = device::gpus().list.front();
    device::use(gpu);
    fmt::print("{}, {} multiprocessors, driver CUDA {}; {} repetitions\n", gpu.name,
               gpu.multiprocessors, device::gpus().driver, repetitions);
    fmt::print("{:<36} {:>29} {:>8} {:>18} {:>6}\n", "", "us per sweep", "GLUP/s", "copy", "of it");
    fmt::print("{:<36} {:>9} {:>9} {:>9} {:>8} {:>9} {:>8} {:>6}\n", "case, norm/every", "best",
               "median", "worst", "median", "us", "GB/s", "%");
    for (const Case& c : cases) {
      if (c.name().find(wanted) == std::string::npos) continue;
      if (c.precision == Precision::f32)
        measure<float>(c, repetitions);
      else
        measure<double>(c, repetitions);
    }
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "bench_gpu_sweep: {}\n", error.what());
    return 3;
  }
}
