// SPDX-License-Identifier: Apache-2.0
#include "support/backend_suite.hpp"

#include <ostream>
#include <utility>

namespace halocline::test {
namespace {

constexpr std::int64_t no_cache = 1, endless_cache = std::int64_t{1} << 60;

/// Numbers of threads are not mixed more than need be: a team of another size is made anew.
std::vector<Variant> variants(const std::vector<std::pair<int, std::int64_t>>& threads_and_caches) {
  std::vector<Variant> all;
  for (const Backend* backend : stencil::backends()) {
    if (backend->name() == "reference" || backend->unavailable()) continue;
    if (backend->on_gpu()) {
      all.push_back({.backend = backend, .memory = Memory::device});
      continue;
    }
    for (const auto& [threads, cache] : threads_and_caches)
      for (const std::string& simd : stencil::simd_levels())
        all.push_back({.backend = backend,
                       .options = {.threads = threads,
                                   .simd = simd,
                                   .fewest_cells_for_threads = 1,
                                   .cache_bytes = cache}});
  }
  return all;
}

}  // namespace

problem::Setting setting_for(const problem::Problem& problem, const Extents& cells) {
  problem::Setting setting{.cells = cells.values(), .axes = cells.axes(), .parameters = {}};
  for (const problem::Parameter& parameter : problem.info().parameters)
    setting.parameters.push_back(parameter.value);
  return setting;
}

std::string Variant::text() const {
  return fmt::format("{}, {} memory, {} threads, simd {}, caches of {} bytes", backend->name(),
                     halocline::name_of(memory), options.threads, options.simd,
                     options.cache_bytes);
}

Variant reference() { return {.backend = &stencil::find_backend("reference")}; }

std::vector<Variant> all_variants() {
  return variants(
      {{1, endless_cache}, {1, no_cache}, {2, no_cache}, {3, endless_cache}, {3, no_cache}});
}

std::vector<Variant> some_variants() { return variants({{1, endless_cache}, {3, no_cache}}); }

void PrintTo(const ProblemCase& c, std::ostream* to) {
  *to << fmt::format("{}{}d{}", c.problem->info().name, c.axes, name_of(c.precision));
}

std::vector<ProblemCase> problem_cases() {
  std::vector<ProblemCase> all;
  for (const problem::Problem* problem : problem::problems())
    for (int axes = problem->info().fewest_axes; axes <= problem->info().most_axes; ++axes)
      for (const Precision precision : {Precision::f32, Precision::f64})
        all.push_back({problem, axes, precision});
  return all;
}

Extents some_cells(int axes) {
  return axes == 1 ? Extents{131} : axes == 2 ? Extents{37, 13} : Extents{21, 6, 7};
}

}  // namespace halocline::test
