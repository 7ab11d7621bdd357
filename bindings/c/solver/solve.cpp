// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>

#include <halocline/program_report.hpp>
#include <halocline/solver.h>
#include <halocline/solver.hpp>

#include "../guard.hpp"
#include "../handles.hpp"
#include "../translate.hpp"

using namespace halocline;
using binding::for_each;
using binding::made;

// A later version adds members at the end of a struct, and earlier_sizes has its size before.
static_assert(sizeof(halocline_solve_options) == 208);
static_assert(sizeof(halocline_solve_result) == 88);

template <>
inline constexpr std::array<std::size_t, 1>
    halocline::binding::earlier_sizes<halocline_solve_options>{200};

namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorKind::usage, text); }

/// Throws usage, listing `there_are`, for an unknown name; a null pointer is none.
template <class Find>
auto named(const char* given, const char* what, const char* there_are, const Find& find)
    -> decltype(find("")) {
  if (given == nullptr) return std::nullopt;
  if (const auto found = find(given)) return found;
  refuse("there is no " + std::string(what) + " '" + given + "'; there are: " + there_are);
}

Problem problem_from(const halocline_solve_options& given) {
  if (given.text != nullptr)
    return given.problem != nullptr ? Problem::from_text(given.text, given.problem)
                                    : Problem::from_text(given.text);
  if (given.problem == nullptr)
    refuse("no problem to solve; give its name, the path of its file, or its text");
  return given.problem;
}

SolveOptions::Array array_from(const halocline_solve_array& given) {
  using Use = SolveOptions::Array::Use;
  const std::string name = binding::text(given.name, "the name of an array");
  const auto use = named(given.use, "use of an array", "start, result, both",
                         [](const std::string& word) -> std::optional<Use> {
                           if (word == "start") return Use::start;
                           if (word == "result") return Use::result;
                           return word == "both" ? std::optional(Use::both) : std::nullopt;
                         });
  return {name, made(given.field, "field").storage, use.value_or(Use::both)};
}

SolveOptions::Graphs graphs_from(const char* given) {
  using Graphs = SolveOptions::Graphs;
  return *named(binding::text(given, "graph"), "choice for graphs", "auto, on, off",
                [](const std::string& word) -> std::optional<Graphs> {
                  if (word == "auto") return Graphs::automatic;
                  if (word == "on") return Graphs::on;
                  return word == "off" ? std::optional(Graphs::off) : std::nullopt;
                });
}

std::optional<std::string> text_or_none(const char* given) {
  return given == nullptr ? std::nullopt : std::optional<std::string>(given);
}

SolveOptions options_from(const halocline_solve_options& given) {
  SolveOptions options;
  options.problem = problem_from(given);
  for_each(given.arrays, given.array_count, "the list of arrays",
           [&](const auto& array) { options.arrays.push_back(array_from(array)); });
  for_each(given.parameters, given.parameter_count, "the list of parameters",
           [&](const halocline_parameter& parameter) {
             options.parameters.emplace_back(
                 binding::text(parameter.name, "the name of a parameter"), parameter.value);
           });
  if (given.sweeps >= 0) options.sweeps = given.sweeps;
  if (!(given.tolerance < 0)) options.tolerance = given.tolerance;
  options.norm = named(given.norm, "norm", "max, l2, none", norm_named);
  options.norm_every = given.norm_every;
  options.precision = named(given.precision, "precision", "f32, f64", precision_named);
  if (given.seed >= 0) options.seed = static_cast<std::uint64_t>(given.seed);
  options.backend = binding::text(given.backend, "the backend");
  if (const std::string memory = binding::text(given.memory, "the memory"); memory != "auto")
    options.memory = binding::memory(given.memory);
  options.transport = binding::text(given.transport, "the transport");
  options.proofs = text_or_none(given.proofs);
  options.schedule = binding::text(given.schedule, "the schedule");
  options.graph = graphs_from(given.graph);
  options.halo_depth = given.halo_depth;
  options.threads = given.threads;
  if (!(given.tuning_seconds < 0)) options.tuning_seconds = given.tuning_seconds;
  options.tuning_file = text_or_none(given.tuning_file);
  if (given.layout != nullptr) options.layout = given.layout;
  return options;
}

void put(const SolveResult& from, halocline_solve_result& to) {
  to.sweeps = from.sweeps;
  to.converged = from.converged ? 1 : 0;
  to.diverged = from.diverged || from.not_finite ? 1 : 0;
  to.norm = from.norm_history.empty() ? std::numeric_limits<double>::quiet_NaN()
                                      : from.norm_history.back().second;
  to.checksum = from.checksum;
  to.sum = from.sum;
  to.setup_seconds = from.setup_seconds;
  to.compile_seconds = from.compile_seconds;
  to.first_sweep_seconds = from.first_sweep_seconds;
  to.loop_seconds = from.loop_seconds;
  to.glups = from.glups;
}

}  // namespace

halocline_status halocline_solve(const halocline_grid* grid, const halocline_solve_options* options,
                                 halocline_solve_result* result) {
  return binding::guarded([&] {
    const halocline_grid& on = made(grid, "grid");
    const auto given = binding::checked(options, "halocline_solve_options");
    if (result != nullptr) binding::fillable(result, "halocline_solve_result");
    const SolveOptions wanted = options_from(given);
    const SolveResult solved = solve(on.communicator, on.grid, wanted);
    if (result != nullptr) put(solved, *result);
    write_report(on.communicator, solved,
                 {.text = text_or_none(given.report), .json = text_or_none(given.json)});
  });
}
