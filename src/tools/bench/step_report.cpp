// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/words.hpp"
#include "bench/step_bench.hpp"
#include "bench/traits.hpp"
#include "grid/text.hpp"

namespace halocline::bench {
namespace {

constexpr auto efficiency_text =
    "t1 / (ranks x t), for cells per rank t1 / t; t1 is the fastest median of one rank";

using StepTrait = Trait<StepTiming>;

std::string size_text(const StepTiming& timing) {
  return grid::text_of(timing.size) + (timing.scaling == Scaling::weak ? " per rank" : "");
}

std::string norm_text(const StepTiming& timing) {
  if (timing.norm == "none") return timing.norm;
  return timing.norm_every == 1 ? fmt::format("{} every sweep", timing.norm)
                                : fmt::format("{} every {} sweeps", timing.norm, timing.norm_every);
}

std::string transports_text(const StepTiming& timing) {
  const std::string text = text_of(timing.transports);
  return text.empty() ? "none" : text;
}

std::vector<StepTrait> step_traits() {
  return {{"cells", "cells", size_text},
          {"precision", "precision", [](const StepTiming& timing) { return timing.precision; }},
          {"norm", "norm", norm_text},
          {"ranks", "", [](const StepTiming& timing) { return fmt::to_string(timing.ranks); }},
          {"grid", "", [](const StepTiming& timing) { return grid::text_of(timing.process_grid); }},
          {"depth", "halo depth",
           [](const StepTiming& timing) { return fmt::to_string(timing.halo_depth); }},
          {"schedule", "schedule", [](const StepTiming& timing) { return timing.schedule; }},
          {"transport", "transport", transports_text},
          {"graph", "graph", [](const StepTiming& timing) {
             return std::string(timing.sweeps_in_graphs > 0 ? "on" : "off");
           }}};
}

/// Returns the range of the repetitions over the median.
double spread_of(const StepTiming& timing) {
  return (timing.worst_seconds - timing.best_seconds) / timing.median_seconds;
}

void add_where(Report& report, const StepBenchResult& result) {
  report.add("ranks", "ranks", result.ranks,
             fmt::format("{} on {}{}", fmt::join(result.ranks, ", "),
                         result.nodes == 1 ? "one node" : counted(result.nodes, "node"),
                         result.backend == "cuda"
                             ? ""
                             : fmt::format(", {} each", counted(result.threads, "thread"))));
  report.add_json("nodes", result.nodes);
  report.add_json("threads_per_rank", result.threads);
  add_shared_traits(report, step_traits(), result.timings);
  report.add("backend", "backend", result.backend,
             fmt::format("{}, {} memory", result.backend, result.memory));
  report.add_json("memory", result.memory);
  add_devices(report, result.devices);
  report.add("mpi", "MPI", result.mpi);
}

/// Adds everything about each case, as rows of a data frame.
void add_json_cases(Report& report, const StepBenchResult& result) {
  Table table = json_table(
      "cases",
      {"scaling",    "cells",        "process_grid", "ranks",     "precision",        "norm",
       "norm_every", "halo_depth",   "schedule",     "transport", "sweeps_in_graphs", "messages",
       "bytes",      "us_per_sweep", "best_us",      "median_us", "worst_us",         "exchange_us",
       "reduce_us",  "glups",        "efficiency",   "checksum",  "verified"});
  for (const StepTiming& timing : result.timings) {
    std::vector<double> us;
    for (const double seconds : timing.seconds_per_sweep) us.push_back(seconds * 1e6);
    const auto us_of = [](std::optional<double> seconds) {
      if (seconds) *seconds *= 1e6;
      return seconds;
    };
    table.add({timing.scaling == Scaling::strong ? "strong" : "weak",
               list_of(timing.cells),
               list_of(timing.process_grid),
               timing.ranks,
               timing.precision,
               timing.norm,
               timing.norm_every,
               timing.halo_depth,
               timing.schedule,
               transports_text(timing),
               timing.sweeps_in_graphs,
               timing.messages,
               timing.bytes,
               us,
               timing.best_seconds * 1e6,
               timing.median_seconds * 1e6,
               timing.worst_seconds * 1e6,
               us_of(timing.exchange_seconds),
               us_of(timing.reduce_seconds),
               timing.glups,
               timing.efficiency,
               fmt::format("{:016x}", timing.checksum),
               !timing.wrong});
  }
  report.add_table(std::move(table));
}

void add_times(Report& report, const StepBenchResult& result) {
  const std::vector<StepTrait> columns = columns_among(step_traits(), result.timings);
  Table table = table_of(
      fmt::format("one sweep: us of {}", counted(result.repetitions, "repetition")), columns);
  const Format us = Format::rate("", 4);
  table.columns.insert(table.columns.end(), {{"best", "best", us},
                                             {"median", "median", us},
                                             {"spread", "spread %", Format::rate("", 2)},
                                             {"glups", "GLUP/s", us},
                                             {"efficiency", "efficiency %", Format::rate("", 3)}});
  for (const StepTiming& timing : result.timings) {
    std::vector<Value> row = cells_of(columns, timing);
    std::optional<double> percent = timing.efficiency;
    if (percent) *percent *= 100;
    row.insert(row.end(), {timing.best_seconds * 1e6, timing.median_seconds * 1e6,
                           spread_of(timing) * 100, timing.glups, percent});
    table.add(std::move(row));
  }
  report.add_line("");
  report.add_table(std::move(table));
  report.add_line("best, median, spread: (worst - best) / median; GLUP/s by the median");
  report.add_line(fmt::format("efficiency: {}", efficiency_text));
}

}  // namespace

std::string name_of(const StepTiming& timing) {
  return fmt::format("{} on {} by {}", size_text(timing), counted(timing.ranks, "rank"),
                     transports_text(timing));
}

Report report_of(const StepBenchResult& result) {
  Report report("bench step", fmt::format("{}, {}, first one not counted", result.problem,
                                          counted(result.sweeps, "sweep")));
  report.add_json("problem", result.problem);
  report.add_json("sweeps", result.sweeps);
  report.add_json("repetitions", result.repetitions);
  report.add_json("efficiency", efficiency_text);
  add_where(report, result);
  add_json_cases(report, result);
  add_times(report, result);
  add_notes(report, result.notes, result.timings);
  return report;
}

std::optional<std::string> wrong_of(const StepBenchResult& result) {
  return first_wrong(result.timings);
}

}  // namespace halocline::bench
