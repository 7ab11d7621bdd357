// SPDX-License-Identifier: Apache-2.0
#include <array>
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
static_assert(sizeof(halocline_solve_options) == 112);
static_assert(sizeof(halocline_solve_result) == 104);
static_assert(sizeof(halocline_progress) == 64);
template <>
inline constexpr std::array<std::size_t, 1> binding::earlier_sizes<halocline_solve_options>{88};
template <>
inline constexpr std::array<std::size_t, 1> binding::earlier_sizes<halocline_solve_result>{88};

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

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

halocline_progress progress_from(const SolveOptions::Progress& progress) {
  return {.struct_size = sizeof(halocline_progress),
          .sweep = progress.sweep,
          .sweeps = progress.sweeps,
          .first = progress.first,
          .norm = progress.norm.value_or(none),
          .seconds = progress.seconds,
          .glups = progress.glups,
          .saved = progress.saved.value_or(-1)};
}

SolveOptions options_from(const halocline_solve_options& given) {
  SolveOptions options;
  options.problem = problem_from(given);
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

void add_arrays_and_callbacks(const halocline_solve_options& given, SolveOptions& options) {
  for_each(given.arrays, given.array_count, "the list of arrays",
           [&](const auto& array) { options.arrays.push_back(array_from(array)); });
  if (given.on_progress != nullptr)
    options.on_progress = [call = given.on_progress, user = given.user](const auto& progress) {
      const halocline_progress at = progress_from(progress);
      call(&at, user);
    };
  if (given.stop_request != nullptr)
    options.stop_request = [call = given.stop_request, user = given.user] {
      return text_or_none(call(user)).value_or("");
    };
}

/// `texts` keeps those of the report.
halocline_solve_result result_from(const SolveResult& from, std::array<std::string, 2>& texts,
                                   bool has_report) {
  halocline_solve_result to = HALOCLINE_SOLVE_RESULT;
  texts = {};
  if (has_report) texts = {text_of(from), json_of(from)};
  to.report = texts[0].c_str();
  to.json = texts[1].c_str();
  to.sweeps = from.sweeps;
  to.converged = from.converged ? 1 : 0;
  to.diverged = from.diverged || from.not_finite ? 1 : 0;
  to.norm = from.norm_history.empty() ? none : from.norm_history.back().second;
  to.checksum = from.checksum;
  to.sum = from.sum;
  to.setup_seconds = from.setup_seconds;
  to.compile_seconds = from.compile_seconds;
  to.first_sweep_seconds = from.first_sweep_seconds;
  to.loop_seconds = from.loop_seconds;
  to.glups = from.glups;
  return to;
}

}  // namespace

halocline_status halocline_solve(const halocline_grid* grid, const halocline_solve_options* options,
                                 halocline_solve_result* result) {
  return binding::guarded([&] {
    const halocline_grid& on = made(grid, "grid");
    const auto given = binding::checked(options, "halocline_solve_options");
    binding::check_fillable(result, "halocline_solve_result");
    SolveOptions wanted = options_from(given);
    add_arrays_and_callbacks(given, wanted);
    thread_local std::array<std::string, 2> texts;
    const auto put = [&](const SolveResult& solved) {
      if (result == nullptr) return;
      const bool is_first = on.communicator.rank() == 0;
      binding::fill(result, result_from(solved, texts, is_first));
    };
    SolveResult solved;
    try {
      solved = solve(on.communicator, on.grid, wanted);
    } catch (const IncompleteSolve& incomplete) {
      put(incomplete.result());
      throw;
    }
    put(solved);
    write_report(on.communicator, solved,
                 {.text = text_or_none(given.report), .json = text_or_none(given.json)});
  });
}

halocline_status halocline_describe_solve(const halocline_solve_options* options, int ranks,
                                          const char** json) {
  return binding::guarded([&] {
    thread_local std::string kept;
    const char*& text = binding::required(json, "the address for the description");
    kept =
        description_of(options_from(binding::checked(options, "halocline_solve_options")), ranks);
    text = kept.c_str();
  });
}
