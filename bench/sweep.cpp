// SPDX-License-Identifier: Apache-2.0
// Measures sweeps of the cpu backend next to plain copies of as many bytes, in one process: a
// sweep that reads and writes every cell once can be as fast as the faster copy, and no faster.
//
//   bench_sweep [threads] [repetitions] [part of a case's name] [simd level]

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "problem/written.hpp"
#include "program/fill.hpp"
#include "program/noise.hpp"
#include "solver/case.hpp"
#include "solver/engine/levels.hpp"
#include "stencil/fill.hpp"
#include "stencil/ghosts.hpp"
#include "stencil/sweep.hpp"

namespace {

using namespace halocline;
using Clock = std::chrono::steady_clock;

struct Options {
  int threads;
  int repetitions;
  std::string wanted;  ///< part of the names of the cases to run
  std::string simd;
};

struct Case {
  const char* problem;
  Extents cells;
  Precision precision;
  Norm norm;

  std::string name() const {
    std::string size = fmt::format("{}", cells[0]);
    for (int axis = 1; axis < cells.axes(); ++axis) size += fmt::format("x{}", cells[axis]);
    return fmt::format("{} {} {} norm {}", problem, size, name_of(precision), name_of(norm));
  }
};

/// Something to time.
struct Work {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds{};  ///< of one run, an entry per repetition
};

double seconds_of(const Work& work, int runs) {
  const auto start = Clock::now();
  for (int i = 0; i < runs; ++i) work.run();
  return std::chrono::duration<double>(Clock::now() - start).count() / runs;
}

/// Times all works in turn, over and over, so that all of them meet the same disturbances. A
/// repetition lasts at least 50 ms.
void measure(std::vector<Work>& works, int repetitions) {
  std::vector<int> runs;
  for (const Work& work : works) {
    work.run();
    runs.push_back(std::max(1, static_cast<int>(0.05 / std::max(seconds_of(work, 1), 1e-7))));
  }
  for (int i = 0; i < repetitions; ++i)
    for (std::size_t w = 0; w < works.size(); ++w)
      works[w].seconds.push_back(seconds_of(works[w], runs[w]));
  for (Work& work : works) std::sort(work.seconds.begin(), work.seconds.end());
}

void copy_cached(const double* from, double* to, std::int64_t count) {
  std::copy_n(from, count, to);
}

/// `to` must be aligned to 16 bytes.
void copy_streamed(const double* from, double* to, std::int64_t count) {
#ifdef __SSE2__
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int j = 0; j < 8; j += 2) _mm_stream_pd(to + i + j, _mm_loadu_pd(from + i + j));
  for (; i < count; ++i) to[i] = from[i];
  _mm_sfence();
#else
  copy_cached(from, to, count);
#endif
}

/// A copy of as many bytes as the owned cells have, between the fields of a sweep.
Work copy_between(const FieldStorage& in, const FieldStorage& out, int threads,
                  void (*copy)(const double*, double*, std::int64_t)) {
  const std::int64_t doubles = in.shape().owned.cells() * in.shape().element_bytes / 8;
  const auto* from = reinterpret_cast<const double*>(in.first_owned());
  auto* to = reinterpret_cast<double*>(out.first_owned());
  const auto run = [=] {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int thread = 0; thread < threads; ++thread) {
      const std::int64_t lines = (doubles + 7) / 8;
      const std::int64_t first = lines * thread / threads * 8;
      const std::int64_t last = std::min(doubles, lines * (thread + 1) / threads * 8);
      copy(from + first, to + first, last - first);
    }
  };
  return {copy == copy_cached ? "copy" : "copy, streamed stores", run};
}

/// Rates are of the best repetition, of the bytes that a sweep reads and writes at the least; for
/// copies of those that they copy. `works` starts with the two copies.
void print(const Case& c, std::int64_t cells, std::int64_t cell_bytes,
           const std::vector<Work>& works) {
  const auto copied = static_cast<double>(2 * cells * (c.precision == Precision::f32 ? 4 : 8));
  const double copy = copied / std::min(works[0].seconds[0], works[1].seconds[0]);
  fmt::print("{}\n", c.name());
  for (std::size_t w = 0; w < works.size(); ++w) {
    const std::vector<double>& seconds = works[w].seconds;
    const double best = seconds.front(), median = seconds[seconds.size() / 2];
    const double bytes = w < 2 ? copied : static_cast<double>(cells * cell_bytes);
    fmt::print("  {:<32} {:>11.2f} {:>11.2f} {:>8.3f} {:>8.1f} {:>7.3f}\n", works[w].name,
               best * 1e6, median * 1e6, static_cast<double>(cells) / best / 1e9,
               bytes / best / 1e9, bytes / best / copy);
  }
}

solver::Case case_of(const Case& c) {
  SolveOptions options;
  options.problem = c.problem;
  options.cells = c.cells;
  options.precision = c.precision;
  return solver::make_case(options, 1);
}

/// Values of a hill would end in subnormal numbers, for which some processors take a hundred times
/// as long.
void fill_by_noise(const FieldStorage& field, int threads) {
  program::fill_owned(
      field,
      [](Int3 first, std::int64_t count, double* values) {
        const auto row = static_cast<std::uint64_t>(first.y + (first.z << 20)) << 20;
        for (std::int64_t i = 0; i < count; ++i)
          values[i] = 0.25 + program::noise(row, static_cast<std::uint64_t>(first.x + i));
      },
      threads);
}

void run_case(const Options& options, const Case& c) {
  const solver::Case the_case = case_of(c);
  const problem::Model& model = *the_case.model;
  const Grid grid(0, 1, the_case.grid);
  solver::Levels levels = solver::make_levels(the_case, grid, 1, Memory::host);
  const solver::Level coefficients = solver::make_coefficients(the_case, grid, 1, Memory::host);
  const stencil::Ghosts ghosts(model, grid, levels[0][0].shape());
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    for (std::size_t f = 0; f < level->size(); ++f) fill_by_noise((*level)[f], options.threads);
    ghosts.fill_fixed(*level);
  }
  for (std::size_t i = 0; i < coefficients.size(); ++i)
    stencil::fill_coefficient(coefficients[i], model, model.coefficients[i].values.expression,
                              options.threads);
  std::vector<Work> works{copy_between(levels[0][0], levels[1][0], options.threads, copy_cached),
                          copy_between(levels[0][0], levels[1][0], options.threads, copy_streamed)};
  std::vector<std::unique_ptr<stencil::Sweep>> sweeps;
  for (const stencil::Formulas formulas :
       {stencil::Formulas::compiled, stencil::Formulas::interpreted}) {
    const bool is_compiled = formulas == stencil::Formulas::compiled;
    sweeps.push_back(stencil::find_backend("cpu").make(
        model, {.threads = options.threads, .simd = options.simd, .formulas = formulas}));
    works.push_back(
        {fmt::format("{}, {}", is_compiled ? "compiled" : "interpreted", sweeps.back()->simd()),
         [&, sweep = sweeps.back().get(), level = std::size_t{0}]() mutable {
           double norm_sum = 0;
           const std::size_t next = (level + 1) % levels.size();
           sweep->run({.in = levels[level],
                       .out = levels[next],
                       .region = grid.owned(),
                       .coefficients = coefficients,
                       .norms = {.kind = c.norm, .sum = &norm_sum}},
                      Stream::host());
           level = next;
         }});
  }
  measure(works, options.repetitions);
  print(c, grid.owned().cells(), problem::effort_of(model).bytes, works);
}

void run(const Options& options) {
  using enum Precision;
  using enum Norm;
  const Case cases[] = {
      {"laplace", {8192, 8192}, f64, max},
      {"laplace", {8192, 8192}, f64, l2},
      {"laplace", {8192, 8192}, f64, none},
      {"laplace", {8191, 8191}, f64, max},
      {"jacobi", {8192, 8192}, f32, l2},
      {"jacobi", {8192, 8192}, f32, max},
      {"star7", {512, 512, 512}, f64, none},
      {"star7", {512, 512, 512}, f64, max},
      {"star7", {256, 256, 256}, f64, none},
      {"heat", {100'000'000}, f64, max},
      {"laplace", {1024, 1024}, f64, max},
      {"laplace", {256, 256}, f64, max},
      {"jacobi", {254, 254}, f32, l2},
      {"star7", {32, 32, 32}, f64, none},
      {"laplace", {64, 64}, f64, max},
      {"heat", {9}, f64, max},
      {"gray_scott", {8192, 8192}, f32, none},
      {"anisotropic", {8192, 8192}, f32, none},
      {"smoother27", {512, 512, 512}, f64, none},
      {"acoustic", {8192, 8192}, f32, none},
  };
  fmt::print("{} threads, {} repetitions\n", options.threads, options.repetitions);
  fmt::print("{:<34} {:>11} {:>11} {:>8} {:>8} {:>7}\n", "", "best us", "median us", "GLUP/s",
             "GB/s", "of copy");
  for (const Case& c : cases) {
    if (c.name().find(options.wanted) == std::string::npos) continue;
    run_case(options, c);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, const char* otherwise) {
    return argc > i ? argv[i] : otherwise;
  };
  try {
    run({.threads = std::max(1, std::atoi(argument(1, "1"))),
         .repetitions = std::max(1, std::atoi(argument(2, "5"))),
         .wanted = argument(3, ""),
         .simd = argument(4, "auto")});
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
