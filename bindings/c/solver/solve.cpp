// SPDX-License-Identifier: Apache-2.0
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

// Version 1. A later one adds members at the end, and earlier_sizes has the size before.
static_assert(sizeof(halocline_solve_options) == 88);
static_assert(sizeof(halocline_solve_result) == 88);

namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorKind::usage, text); }

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
  const std::string use = given.use == nullptr ? "both" : given.use;
  if (use != "start" && use != "result" && use != "both")
    refuse("there is no use of an array '" + use + "'; there are: start, result, both");
  return {name, made(given.field, "field").storage,
          use == "start"    ? Use::start
          : use == "result" ? Use::result
                            : Use::both};
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
  for_each(given.options, given.option_count, "the list of options",
           [&](const halocline_option& option) {
             const std::string name = binding::text(option.name, "the name of an option");
             const std::string what = "the value of option '" + name + "'";
             set_option(options, name, binding::text(option.value, what.c_str()));
           });
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
