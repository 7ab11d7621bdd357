// SPDX-License-Identifier: Apache-2.0
#include "support/backend_suite.hpp"

#include <ostream>
#include <utility>

#include "stencil/compiled.hpp"

namespace halocline::test {

using stencil::Formulas;

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
        for (const Formulas formulas : {Formulas::automatic, Formulas::interpreted})
          all.push_back({.backend = backend,
                         .options = {.threads = threads,
                                     .simd = simd,
                                     .formulas = formulas,
                                     .fewest_cells_for_threads = 1,
                                     .cache_bytes = cache}});
  }
  return all;
}

}  // namespace

std::string Variant::text() const {
  return fmt::format("{}{}, {} memory, {} threads, simd {}, caches of {} bytes", backend->name(),
                     options.formulas == Formulas::interpreted ? ", interpreted" : "",
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
  *to << fmt::format("{}{}d{}", c.problem, c.axes, name_of(c.precision));
}

std::vector<ProblemCase> problem_cases() {
  std::vector<ProblemCase> all;
  for (const problem::BuiltIn& one : problem::built_in_problems())
    for (const int axes : problem::read_text(std::string(one.name), std::string(one.text)).axes)
      for (const Precision precision : {Precision::f32, Precision::f64}) {
        const ProblemCase c{std::string(one.name), axes, precision};
        // Fields of a test are one, with boundaries that the test fills.
        if (stencil::is_compiled_in(c.model({})) && !c.model({}).ghosts_change()) all.push_back(c);
      }
  return all;
}

Extents some_cells(int axes) {
  return axes == 1 ? Extents{131} : axes == 2 ? Extents{37, 13} : Extents{21, 6, 7};
}

}  // namespace halocline::test
