// Measures sweeps of the cpu backend next to plain copies of as many bytes, in one process: a
// sweep that reads and writes every cell once can be as fast as the copy, and no faster unless
// its fields stay in a cache.
//
//   sweep [threads] [repetitions] [part of a case's name]

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "problem/catalogue.hpp"
#include "stencil/fill.hpp"
#include "stencil/sweep.hpp"

namespace {

using namespace halocline;

using Clock = std::chrono::steady_clock;

/// Something to time, and what it moves.
struct Work {
  std::string name;
  std::int64_t cells, bytes;
  std::function<void()> run;
  std::vector<double> seconds{};  // per run, one entry per repetition
};

double seconds_of(const Work& work, int count) {
  const auto start = Clock::now();
  for (int i = 0; i < count; ++i) work.run();
  return std::chrono::duration<double>(Clock::now() - start).count() / count;
}

/// Times all works in turn, over and over, so that all of them meet the same disturbances. A
/// repetition lasts at least 50 ms.
void measure(std::vector<Work>& works, int repetitions) {
  std::vector<int> counts;
  for (const Work& work : works) {
    work.run();
    counts.push_back(std::max(1, static_cast<int>(0.05 / std::max(seconds_of(work, 1), 1e-7))));
  }
  for (int i = 0; i < repetitions; ++i)
    for (std::size_t w = 0; w < works.size(); ++w)
      works[w].seconds.push_back(seconds_of(works[w], counts[w]));
  for (Work& work : works) std::sort(work.seconds.begin(), work.seconds.end());
}

void copy_cached(const double* from, double* to, std::int64_t count) {
  std::copy_n(from, count, to);
}

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

struct Case {
  const char* problem;
  Extents cells;
  problem::Precision precision;
  problem::NormKind norm;
};

struct Bench {
  int threads;
  int repetitions;
};

/// Adds copies of as many bytes between the same fields, with ordinary and streamed stores.
void add_copies(const Bench& bench, const FieldStorage& in, const FieldStorage& out,
                std::vector<Work>& works) {
  const std::int64_t cells = in.shape().owned.cells();
  const std::int64_t doubles = cells * in.shape().element_bytes / 8;
  const auto* from = reinterpret_cast<const double*>(in.first_owned());
  auto* to = reinterpret_cast<double*>(out.first_owned());
  const auto add = [&](const char* name, auto copy) {
    works.push_back({name, cells, 16 * doubles, [=] {
#pragma omp parallel for num_threads(bench.threads) schedule(static, 1)
                       for (int t = 0; t < bench.threads; ++t) {
                         // Whole lines to each thread.
                         const std::int64_t lines = (doubles + 7) / 8;
                         const std::int64_t first = lines * t / bench.threads * 8;
                         const std::int64_t last =
                             std::min(doubles, lines * (t + 1) / bench.threads * 8);
                         copy(from + first, to + first, last - first);
                       }
                     }});
  };
  add("copy, cached stores", copy_cached);
  add("copy, streamed stores", copy_streamed);
}

void print(const std::vector<Work>& works) {
  const double copy = std::min(works[0].seconds[0], works[1].seconds[0]);
  for (const Work& work : works) {
    const double best = work.seconds.front(), median = work.seconds[work.seconds.size() / 2];
    fmt::print("  {:<32} {:>11.2f} {:>11.2f} {:>8.3f} {:>8.1f} {:>7.3f}\n", work.name, best * 1e6,
               median * 1e6, static_cast<double>(work.cells) / best / 1e9,
               static_cast<double>(work.bytes) / best / 1e9, copy / best);
  }
}

template <class Real>
void run_case(const Bench& bench, const Case& c) {
  const problem::Problem& problem = problem::find_problem(c.problem);
  problem::Setting setting{.cells = c.cells.values(), .axes = c.cells.axes(), .parameters = {}};
  for (const problem::Parameter& parameter : problem.info().parameters)
    setting.parameters.push_back(parameter.value);
  GridOptions options;
  options.cells = c.cells;
  const Grid grid(0, 1, options);
  const Field<Real> a(grid), b(grid);
  for (const FieldStorage* field : {&a, &b}) {
    stencil::fill_start(*field, problem, setting, bench.threads);
    stencil::fill_boundary(*field, grid, problem, setting);
  }

  std::vector<Work> works;
  add_copies(bench, a, b, works);
  const std::int64_t cells = grid.owned().cells();
  std::vector<std::string> levels = stencil::simd_levels();
  if (std::getenv("T_LEVELS"))
    levels = {std::getenv("T_LEVELS")};
  else
    levels = {levels.back()};
  std::string conf = std::getenv("T_CONF") ? std::getenv("T_CONF") : "T_W=1000000000";
  std::vector<std::string> confs;
  {
    std::size_t i = 0;
    while (i <= conf.size()) {
      auto j = conf.find(';', i);
      if (j == std::string::npos) j = conf.size();
      confs.push_back(conf.substr(i, j - i));
      i = j + 1;
    }
  }
  for (const std::string& level : levels)
    for (auto cf : confs) {
      unsetenv("T_W");
      unsetenv("T_B");
      unsetenv("T_NT");
      unsetenv("T_MIN");
      {
        std::size_t i = 0;
        while (i <= cf.size()) {
          auto j = cf.find(',', i);
          if (j == std::string::npos) j = cf.size();
          auto kv = cf.substr(i, j - i);
          auto e = kv.find('=');
          setenv(kv.substr(0, e).c_str(), kv.substr(e + 1).c_str(), 1);
          i = j + 1;
        }
      }
      std::shared_ptr<stencil::Sweep> sweep = stencil::find_backend("cpu").make(
          problem, setting, c.precision, {.threads = bench.threads, .simd = level});
      works.push_back({fmt::format("sweep, {}, {}", level, cf), cells,
                       2 * cells * static_cast<std::int64_t>(sizeof(Real)),
                       [=, &grid, even = true]() mutable {
                         double norm_sum = 0;
                         sweep->run({.in = even ? a : b,
                                     .out = even ? b : a,
                                     .region = grid.owned(),
                                     .norm = c.norm,
                                     .norm_sum = &norm_sum},
                                    Stream::host());
                         even = !even;
                       }});
    }
  measure(works, bench.repetitions);
  std::string size = fmt::format("{}", c.cells[0]);
  for (int axis = 1; axis < c.cells.axes(); ++axis) size += fmt::format("x{}", c.cells[axis]);
  fmt::print("{} {} {} norm {}\n", c.problem, size, name_of(c.precision), name_of(c.norm));
  print(works);
}

}  // namespace

int main(int argc, char** argv) {
  using enum problem::Precision;
  using enum problem::NormKind;
  const Bench bench{argc > 1 ? std::atoi(argv[1]) : 1, argc > 2 ? std::atoi(argv[2]) : 5};
  const std::string wanted = argc > 3 ? argv[3] : "";
  const Case cases[] = {
      {"laplace", {8192, 8192}, f64, max},   {"jacobi", {8192, 8192}, f32, l2},
      {"jacobi", {8192, 8192}, f32, max},    {"laplace", {8190, 8190}, f64, max},
      {"star7", {512, 512, 512}, f64, none}, {"star7", {256, 256, 256}, f64, none},
      {"star7", {256, 256, 256}, f64, max},  {"laplace", {1024, 1024}, f64, max},
      {"laplace", {256, 256}, f64, max},     {"jacobi", {254, 254}, f32, l2},
      {"laplace", {64, 64}, f64, max},       {"heat", {9}, f64, max},
      {"heat", {100000000}, f64, max},       {"star7", {32, 32, 32}, f64, none}};
  fmt::print("{} threads, best and median of {} repetitions\n", bench.threads, bench.repetitions);
  fmt::print("{:<34} {:>11} {:>11} {:>8} {:>8} {:>7}\n", "", "best us", "median us", "GLUP/s",
             "GB/s", "of copy");
  for (const Case& c : cases) {
    const std::string name = fmt::format("{}{}{}", c.problem, c.cells[0], name_of(c.precision));
    if (name.find(wanted) == std::string::npos) continue;
    c.precision == f32 ? run_case<float>(bench, c) : run_case<double>(bench, c);
  }
  return 0;
}
