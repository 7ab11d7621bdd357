// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>

#include "bench/traits.hpp"
#include "lab/copy.hpp"

namespace halocline::bench {
namespace {

constexpr auto rate_text = "bytes copied per second and rank; memory traffic is twice that";

void add_json_cases(Report& report, const CopyBenchResult& result) {
  Table table{.key = "cases", .title = "", .columns = {}, .audience = Audience::json};
  for (const char* key : {"from", "to", "bytes", "verified", "repetitions", "min_us", "median_us",
                          "p99_us", "gb_per_s"})
    table.columns.push_back({key, key});
  for (const CopyTiming& timing : result.timings) {
    const auto timed = [&](double value) {
      return timing.wrong ? std::nullopt : std::optional(value);
    };
    table.add({timing.from, timing.to, timing.bytes, !timing.wrong, timing.time.repetitions,
               timed(1e6 * timing.time.min_seconds), timed(1e6 * timing.time.median_seconds),
               timed(1e6 * timing.time.p99_seconds), timed(timing.gigabytes_per_second)});
  }
  report.add_table(std::move(table));
}

void add_times(Report& report, const CopyBenchResult& result) {
  const Format us = Format::rate("", 3);
  Table table{.key = "times",
              .title = "one copy: the slowest rank's us",
              .columns = {{"from", "from"},
                          {"to", "to"},
                          {"bytes", "size"},
                          {"min", "min", us},
                          {"median", "median", us},
                          {"p99", "p99", us},
                          {"rate", "GB/s", us}},
              .audience = Audience::text};
  for (const CopyTiming& timing : result.timings)
    if (!timing.wrong)
      table.add({timing.from, timing.to, bytes_text(timing.bytes), 1e6 * timing.time.min_seconds,
                 1e6 * timing.time.median_seconds, 1e6 * timing.time.p99_seconds,
                 timing.gigabytes_per_second});
  if (table.rows.empty()) return;
  report.add_line("");
  report.add_table(std::move(table));
  report.add_line(fmt::format("GB/s: {}", rate_text));
}

}  // namespace

std::string name_of(const CopyTiming& timing) {
  return fmt::format("from {} to {}, {}", timing.from, timing.to, bytes_text(timing.bytes));
}

Report report_of(const CopyBenchResult& result) {
  Report report("bench copy", result.ranks > 1 ? "copies between memories, on all ranks at once"
                                               : "copies between memories");
  add_ranks(report, result.ranks, result.nodes);
  add_devices(report, result.devices);
  report.add_json("mpi", result.mpi);
  report.add_json("rate", rate_text);
  add_json_cases(report, result);
  add_times(report, result);
  add_notes(report, result.notes, result.timings);
  return report;
}

std::optional<std::string> wrong_of(const CopyBenchResult& result) {
  return first_wrong(result.timings);
}

}  // namespace halocline::bench
