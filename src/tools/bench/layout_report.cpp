// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text/words.hpp"
#include "bench/halo_ways.hpp"
#include "bench/layout_bench.hpp"
#include "bench/traits.hpp"
#include "grid/text.hpp"

namespace halocline::bench {
namespace {

void add_where(Report& report, const LayoutBenchResult& result) {
  add_ranks(report, result.ranks, result.nodes,
            fmt::format(", process grid {}, {} each", grid::text_of(result.process_grid),
                        counted(result.threads, "thread")));
  report.add_json("process_grid", list_of(result.process_grid));
  report.add_json("threads_per_rank", result.threads);
  report.add("backend", "backend", result.backend);
  add_devices(report, result.devices);
  report.add("mpi", "MPI", result.mpi);
  const std::string checksum = fmt::format("{:016x}", result.checksum);
  report.add(
      "checksum", "checksum", checksum,
      fmt::format("{} of {}, as {} has it", checksum,
                  wrong_of(result) ? "the right results" : "every result", result.reference));
  report.add_json("judge", result.reference);
}

/// Adds everything about each combination, as rows of a data frame.
void add_json_cases(Report& report, const LayoutBenchResult& result) {
  Table table = json_table(
      "cases", {"way", "layout", "brick", "steps", "memory", "messages", "bytes", "needed_bytes",
                "mapped_pieces", "verified", "us_per_sweep", "best_us", "median_us", "worst_us",
                "glups", "glups_per_rank", "redundant_updates"});
  for (const std::string_view phase : layout_phases)
    for (const char* what : {"us", "deviation_us"})
      table.columns.push_back({fmt::format("{}_{}", phase, what), {}});
  for (const LayoutTiming& timing : result.timings) {
    const auto if_timed = [&](Value value) { return timing.wrong ? Value() : std::move(value); };
    std::vector<double> us;
    for (const double seconds : timing.seconds_per_sweep) us.push_back(seconds * 1e6);
    std::vector<Value> row{timing.way,
                           timing.layout,
                           list_of(timing.brick),
                           timing.steps,
                           timing.memory,
                           timing.messages,
                           timing.bytes,
                           timing.needed_bytes,
                           timing.pieces > 0 ? Value(timing.pieces) : Value(),
                           !timing.wrong,
                           us,
                           if_timed(timing.best_seconds * 1e6),
                           if_timed(timing.median_seconds * 1e6),
                           if_timed(timing.worst_seconds * 1e6),
                           if_timed(timing.glups),
                           if_timed(timing.glups / result.ranks),
                           timing.redundant};
    for (const RankSpread& phase : timing.phases) {
      row.push_back(if_timed(MinMeanMax{phase.min * 1e6, phase.mean * 1e6, phase.max * 1e6}));
      row.push_back(if_timed(phase.deviation * 1e6));
    }
    table.add(std::move(row));
  }
  report.add_table(std::move(table));
}

/// Describes ways that are not transports.
void add_texts(Report& report, const LayoutBenchResult& result) {
  Table table = json_table("ways", {"name", "text"});
  for (const HaloWay& way : halo_ways()) {
    if (std::none_of(result.timings.begin(), result.timings.end(),
                     [&](const LayoutTiming& timing) { return timing.way == way.name; }))
      continue;
    report.add_line(fmt::format("{}: {}", way.name, way.text));
    table.add({way.name, way.text});
  }
  report.add_table(std::move(table));
}

void add_times(Report& report, const LayoutBenchResult& result) {
  const Format us = Format::rate("", 4), rate = Format::rate("", 3);
  Table table{.key = "times",
              .title = fmt::format("one sweep: us of the slowest rank, {}",
                                   counted(result.repetitions, "repetition")),
              .columns = {{"way", "way"},
                          {"layout", "layout"},
                          {"steps", "steps"},
                          {"best", "best", us},
                          {"median", "median", us},
                          {"worst", "worst", us},
                          {"glups", "GLUP/s", rate},
                          {"per_rank", "per rank", rate},
                          {"rim", "rim %", Format::general(3)},
                          {"messages", "msgs"},
                          {"size", "size"}},
              .audience = Audience::text};
  for (const LayoutTiming& timing : result.timings) {
    if (timing.wrong) continue;
    table.add({timing.way, timing.layout, timing.steps, timing.best_seconds * 1e6,
               timing.median_seconds * 1e6, timing.worst_seconds * 1e6, timing.glups,
               timing.glups / result.ranks, timing.redundant * 100, timing.messages,
               bytes_text(timing.bytes)});
  }
  report.add_line("");
  report.add_table(std::move(table));
  for (const char* line :
       {"steps: sweeps per exchange; rim: cells updated again for it, in % of the real updates",
        "GLUP/s: 10^9 updates of cells a second (GStencil/s), each real one counted once; median",
        "msgs, size: of one exchange, to other ranks, of the busiest rank"})
    report.add_line(line);
  add_texts(report, result);
  for (const LayoutTiming& timing : result.timings)
    if (!timing.wrong && timing.pieces > 0)
      report.add_line(fmt::format("{}, {}, {}: {} of {} are halo, mapped from {}", timing.way,
                                  timing.layout, counted(timing.steps, "step"),
                                  bytes_text(timing.needed_bytes), bytes_text(timing.bytes),
                                  counted(timing.pieces, "piece")));
}

void add_phases(Report& report, const LayoutBenchResult& result) {
  const Format us = Format::rate("", 3);
  Table table{.key = "phases",
              .title = "phases of one sweep: us over ranks, median repetition",
              .columns = {{"way", "way"},
                          {"layout", "layout"},
                          {"steps", "steps"},
                          {"phase", "phase"},
                          {"min", "min", us},
                          {"mean", "mean", us},
                          {"max", "max", us},
                          {"deviation", "std dev", us}},
              .audience = Audience::text};
  for (const LayoutTiming& timing : result.timings) {
    if (timing.wrong) continue;
    std::vector<Value> name{timing.way, timing.layout, fmt::to_string(timing.steps)};
    for (std::size_t p = 0; p < layout_phases.size(); ++p) {
      const RankSpread& phase = timing.phases[p];
      if (phase.max == 0) continue;
      std::vector<Value> row = name;
      row.insert(row.end(), {layout_phases[p], phase.min * 1e6, phase.mean * 1e6, phase.max * 1e6,
                             phase.deviation * 1e6});
      table.add(std::move(row));
      name = {"", "", ""};
    }
  }
  report.add_line("");
  report.add_table(std::move(table));
  for (const char* line :
       {"calc: sweeps; pack: packing and unpacking; move: copies between memories, and exchanges",
        "by one kernel; call: launches and posts; wait: for messages. On GPUs phases overlap."})
    report.add_line(line);
}

void add_kernels(Report& report, const LayoutBenchResult& result) {
  if (result.kernels.empty()) return;
  const Format us = Format::rate("", 4);
  Table table{.key = "kernels",
              .title = "sweeps by the plainest kernel: us of calc, of the slowest rank",
              .columns = {{"layout", "layout"},
                          {"way", "way"},
                          {"steps", "steps"},
                          {"plain_calc_us", "plain", us},
                          {"calc_us", "calc", us},
                          {"gain", "gain", Format::rate("", 3)}}};
  for (const KernelGain& kernel : result.kernels)
    if (!kernel.wrong)
      table.add({kernel.layout, kernel.way, kernel.steps, kernel.plain_seconds * 1e6,
                 kernel.seconds * 1e6, kernel.plain_seconds / kernel.seconds});
  report.add_line("");
  report.add_table(std::move(table));
  report.add_line(fmt::format("plain: {}", result.plain));
}

}  // namespace

std::string name_of(const std::string& way, const std::string& layout, std::int64_t steps) {
  return fmt::format("{} with layout {} and {} per exchange", way, layout, counted(steps, "sweep"));
}

std::string name_of(const LayoutTiming& timing) {
  return name_of(timing.way, timing.layout, timing.steps);
}

std::string name_of(const KernelGain& kernel) {
  return name_of(kernel.way + by_plain_kernel, kernel.layout, kernel.steps);
}

Report report_of(const LayoutBenchResult& result) {
  Report report("bench layout",
                fmt::format("layouts and halos: {}, {} cells per rank, {}, {} a repetition",
                            result.problem, grid::text_of(result.cells_per_rank), result.precision,
                            counted(result.sweeps, "sweep")));
  report.add_json("problem", result.problem);
  report.add_json("cells_per_rank", list_of(result.cells_per_rank));
  report.add_json("cells", list_of(result.cells));
  report.add_json("precision", result.precision);
  report.add_json("sweeps", result.sweeps);
  report.add_json("repetitions", result.repetitions);
  add_where(report, result);
  add_json_cases(report, result);
  add_times(report, result);
  add_phases(report, result);
  add_kernels(report, result);
  std::vector<std::string> notes = result.notes;
  for (const KernelGain& kernel : result.kernels)
    if (kernel.wrong) notes.push_back(fmt::format("{}: WRONG: {}", name_of(kernel), *kernel.wrong));
  add_notes(report, std::move(notes), result.timings);
  return report;
}

std::optional<std::string> wrong_of(const LayoutBenchResult& result) {
  auto wrong = first_wrong(result.timings);
  return wrong ? wrong : first_wrong(result.kernels);
}

}  // namespace halocline::bench
