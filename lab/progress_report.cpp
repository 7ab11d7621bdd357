// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/format.hpp"
#include "base/text/words.hpp"
#include "bench/traits.hpp"
#include "lab/progress.hpp"

namespace halocline::bench {
namespace {

constexpr auto overlap_text =
    "(alone + work - together) / alone, medians; work takes about as long "
    "as the transfer alone";

void add_where(Report& report, const ProgressBenchResult& result) {
  add_ranks(report, result.ranks, result.nodes,
            fmt::format(", {} on this node", counted(result.cores, "core")));
  report.add_json("cores", result.cores);
  add_devices(report, result.devices);
  report.add("mpi", "MPI", result.mpi);
  report.add("threads", "threads", result.threads);
  report.add_json("parts", result.parts);
  report.add_json("overlap", overlap_text);
}

void add_json_cases(Report& report, const ProgressBenchResult& result) {
  Table table{.key = "cases", .title = "", .columns = {}, .audience = Audience::json};
  for (const char* key : {"memory", "transport", "bytes", "verified", "mode", "repetitions",
                          "min_us", "median_us", "p99_us", "overlap"})
    table.columns.push_back({key, key});
  for (const ProgressTiming& timing : result.timings) {
    const auto add = [&](std::string_view mode, const timing::TimeSummary& time, Value overlap) {
      const auto us = [&](double seconds) {
        return time.repetitions > 0 ? Value(seconds * 1e6) : Value();
      };
      table.add({timing.memory, timing.transport, timing.bytes, !timing.wrong, mode,
                 time.repetitions, us(time.min_seconds), us(time.median_seconds),
                 us(time.p99_seconds), std::move(overlap)});
    };
    add("alone", timing.alone, {});
    add("work", timing.work, {});
    for (const ProgressTiming::Mode& mode : timing.modes)
      add(name_of(mode.mode), mode.time, mode.overlap);
  }
  report.add_table(std::move(table));
}

/// "-4", "96"; what took longer than transfer and work one after the other by more than the whole
/// transfer was disturbed: the number says nothing.
Value percent_text(double overlap) {
  if (overlap < -1) return "< -100";
  return std::int64_t{std::lround(100 * overlap)};
}

void add_overlaps(Report& report, const ProgressBenchResult& result) {
  const Format us = Format::rate("", 3);
  Table table{.key = "overlaps",
              .title = "one message each way: us; % of its time hidden behind work, by mode",
              .columns = {{"memory", "memory"},
                          {"transport", "transport"},
                          {"bytes", "message"},
                          {"alone", "alone", us},
                          {"p99", "p99", us},
                          {"work", "work", us}},
              .audience = Audience::text};
  std::vector<ProgressMode> modes;
  for (const ProgressMode mode : progress_modes)
    for (const ProgressTiming& timing : result.timings)
      if (std::any_of(timing.modes.begin(), timing.modes.end(),
                      [&](const auto& each) { return each.mode == mode; }) &&
          (modes.empty() || modes.back() != mode))
        modes.push_back(mode);
  for (const ProgressMode mode : modes)
    table.columns.push_back({std::string(name_of(mode)), std::string(name_of(mode))});
  for (const ProgressTiming& timing : result.timings) {
    if (timing.wrong) continue;
    std::vector<Value> row{timing.memory,
                           timing.transport,
                           bytes_text(timing.bytes),
                           timing.alone.median_seconds * 1e6,
                           timing.alone.p99_seconds * 1e6,
                           timing.work.median_seconds * 1e6};
    for (const ProgressMode mode : modes) {
      const auto found = std::find_if(timing.modes.begin(), timing.modes.end(),
                                      [&](const auto& each) { return each.mode == mode; });
      if (found == timing.modes.end())
        row.emplace_back(nullptr);
      else
        row.emplace_back(percent_text(found->overlap));
    }
    table.add(std::move(row));
  }
  report.add_line("");
  report.add_table(std::move(table));
  report.add_line(
      fmt::format("% hidden: {}; below 0: slower than one after the other", overlap_text));
  const auto explain = [&](ProgressMode mode, const std::string& text) {
    if (std::find(modes.begin(), modes.end(), mode) != modes.end())
      report.add_line(fmt::format("{}: {}", name_of(mode), text));
  };
  explain(ProgressMode::busy, "the host computes and makes no calls");
  explain(ProgressMode::tests,
          fmt::format("the host computes in {} and calls progress() after each",
                      counted(result.parts, "part")));
  explain(ProgressMode::thread, "the host computes while another thread keeps calling progress()");
}

}  // namespace

std::string name_of(const ProgressTiming& timing) {
  return fmt::format("{} by {} with {} memory", bytes_text(timing.bytes), timing.transport,
                     timing.memory);
}

Report report_of(const ProgressBenchResult& result) {
  Report report("bench progress", "progress of messages while the host works");
  add_where(report, result);
  add_json_cases(report, result);
  add_overlaps(report, result);
  add_notes(report, result.notes, result.timings);
  return report;
}

std::optional<std::string> wrong_of(const ProgressBenchResult& result) {
  return first_wrong(result.timings);
}

}  // namespace halocline::bench
