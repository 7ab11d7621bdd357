// SPDX-License-Identifier: Apache-2.0
#include <halocline/measure.hpp>
#include <halocline/program_report.hpp>

#include "guard.hpp"
#include "handles.hpp"
#include "translate.hpp"

using namespace halocline;
using binding::made;
using binding::required;

// Version 1. A later one adds members at the end, and earlier_sizes has the size before.
static_assert(sizeof(halocline_report_options) == 112);

namespace {

/// Throws usage, listing `there_are`, for an unknown name.
Norm norm_named_by(const std::string& name, const char* there_are) {
  if (const std::optional<Norm> found = norm_named(name)) return *found;
  throw Error(ErrorKind::usage, "there is no norm '" + name + "'; there are: " + there_are);
}

ProgramFacts facts_from(const halocline_report_options& given) {
  return {.problem = binding::text(given.problem, "the problem"),
          .backend = binding::text(given.backend, "the backend"),
          .schedule = binding::text(given.schedule, "the schedule"),
          .threads = given.threads,
          .sweeps = given.sweeps,
          .norm = norm_named_by(binding::text(given.norm, "the norm"), "max, l2, none"),
          .norm_value = given.norm_value,
          .tolerance = given.tolerance < 0 ? std::nullopt : std::optional(given.tolerance),
          .setup_seconds = given.setup_seconds,
          .first_sweep_seconds = given.first_sweep_seconds,
          .loop_seconds = given.loop_seconds};
}

ReportFiles files_from(const halocline_report_options& given) {
  ReportFiles files;
  if (given.text != nullptr) files.text = given.text;
  if (given.json != nullptr) files.json = given.json;
  return files;
}

}  // namespace

halocline_status halocline_norm(const halocline_grid* grid, const char* kind, double share,
                                double* norm) {
  return binding::guarded([&] {
    const Communicator& all = made(grid, "grid").communicator;
    double& result = required(norm, "the place for the norm");
    const Norm wanted = norm_named_by(binding::text(kind, "the kind of norm"), "max, l2");
    result = halocline::norm(all, wanted, share);
  });
}

halocline_status halocline_report_write(const halocline_field* field,
                                        const halocline_exchange* exchange,
                                        const halocline_report_options* options) {
  return binding::guarded([&] {
    const halocline_field& result = made(field, "field");
    const ExchangeInfo& info = made(exchange, "exchange").exchange.info();
    const auto given = binding::checked(options, "halocline_report_options");
    write_report(result.on.communicator, result.on.grid, result.storage, info, facts_from(given),
                 files_from(given));
  });
}
