// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/text/format.hpp"
#include "base/text/words.hpp"
#include "bench/traits.hpp"
#include "grid/text.hpp"
#include "lab/mesh.hpp"
#include "lab/mesh_timeline.hpp"

namespace halocline::bench {
namespace {

constexpr int bar_columns = 64;
constexpr std::size_t most_bars = 16;  // more ranks are a page of them; JSON has all
constexpr MeshOrder best = MeshOrder::irecv_isend;

std::string time_text(double seconds) { return write_number(seconds, Format::time_in("us")); }

bool is_timed(const MeshTiming& timing) { return !timing.deadlock && !timing.wrong; }

/// The median compared with that of the order that constrains MPI least.
std::optional<double> relative(const MeshBenchResult& result, const MeshTiming& timing) {
  if (!is_timed(timing)) return std::nullopt;
  for (const MeshTiming& other : result.timings)
    if (other.bytes == timing.bytes && other.order == best && is_timed(other))
      return timing.time.median_seconds / other.time.median_seconds;
  return std::nullopt;
}

void add_where(Report& report, const MeshBenchResult& result) {
  const std::string periodic =
      fmt::format("{}{}", result.periodic[0] ? "x" : "", result.periodic[1] ? "y" : "");
  add_ranks(report, result.ranks, result.nodes,
            fmt::format(", process grid {}, {}", grid::text_of(result.process_grid),
                        periodic.empty() ? "not periodic" : "periodic along " + periodic));
  report.add_json("process_grid", list_of(result.process_grid));
  report.add_json("periodic", std::vector<bool>{result.periodic[0], result.periodic[1]});
  report.add("mpi", "MPI", result.mpi);
  report.add("messages", "messages", result.messages,
             fmt::format("up to {} each way for a rank", result.messages));
}

void add_json_cases(Report& report, const MeshBenchResult& result) {
  Table table{.key = "cases", .title = "", .columns = {}, .audience = Audience::json};
  for (const char* key : {"bytes", "order", "deadlock", "circle", "others_stuck", "verified",
                          "repetitions", "min_us", "median_us", "p99_us", "relative"})
    table.columns.push_back({key, key});
  for (const MeshTiming& timing : result.timings) {
    const auto us = [&](double seconds) {
      return is_timed(timing) ? Value(seconds * 1e6) : Value();
    };
    const bool stuck = timing.deadlock.has_value();
    table.add({timing.bytes, name_of(timing.order), stuck,
               stuck ? Value(timing.deadlock->circle) : Value(),
               stuck ? Value(timing.deadlock->others) : Value(),
               stuck ? Value() : Value(!timing.wrong), timing.time.repetitions,
               us(timing.time.min_seconds), us(timing.time.median_seconds),
               us(timing.time.p99_seconds), relative(result, timing)});
  }
  report.add_table(std::move(table));
}

void add_json_messages(Report& report, const MeshBenchResult& result) {
  Table table{.key = "timeline", .title = "", .columns = {}, .audience = Audience::json};
  for (const char* key :
       {"bytes", "order", "rank", "what", "peer", "direction", "start_us", "end_us"})
    table.columns.push_back({key, key});
  for (const MeshTiming& timing : result.timings)
    for (const MeshMessage& message : timing.timeline.messages)
      table.add({timing.bytes, name_of(timing.order), message.rank,
                 message.way == MeshMessage::Way::sent ? "send" : "receive", message.peer,
                 name_of_lane(message.lane), message.start_seconds * 1e6,
                 message.end_seconds * 1e6});
  report.add_table(std::move(table));
}

void add_times(Report& report, const MeshBenchResult& result) {
  const Format us = Format::rate("", 3);
  Table table{.key = "times",
              .title = "one exchange: the slowest rank's us",
              .columns = {{"bytes", "message"},
                          {"order", "order"},
                          {"min", "min", us},
                          {"median", "median", us},
                          {"p99", "p99", us}},
              .audience = Audience::text};
  const bool comparable = std::any_of(
      result.timings.begin(), result.timings.end(),
      [&](const MeshTiming& timing) { return timing.order != best && relative(result, timing); });
  if (comparable) table.columns.push_back({"relative", "relative", Format::rate("", 3)});
  table.columns.push_back({"finding", ""});
  for (const MeshTiming& timing : result.timings) {
    const bool timed = is_timed(timing);
    const auto value = [&](double seconds) { return timed ? Value(seconds * 1e6) : Value(); };
    std::vector<Value> row{bytes_text(timing.bytes), name_of(timing.order),
                           value(timing.time.min_seconds), value(timing.time.median_seconds),
                           value(timing.time.p99_seconds)};
    if (comparable) row.push_back(relative(result, timing));
    row.push_back(timing.deadlock ? "deadlock" : timing.wrong ? "WRONG" : "");
    table.add(std::move(row));
  }
  report.add_line("");
  report.add_table(std::move(table));
  if (comparable)
    report.add_line(fmt::format("relative: median divided by the median of {}", name_of(best)));
}

std::string deadlock_text(const MeshDeadlock& deadlock) {
  if (deadlock.others == 0) return deadlock.text;
  return fmt::format("{}; {} also stuck", deadlock.text,
                     deadlock.others == 1 ? "another rank is"
                                          : fmt::format("{} other ranks are", deadlock.others));
}

/// One sentence for all sizes that are stuck alike.
void add_deadlocks(Report& report, const MeshBenchResult& result) {
  std::vector<std::pair<const MeshTiming*, std::string>> alike;  // the first, and all sizes
  for (const MeshTiming& timing : result.timings) {
    if (!timing.deadlock) continue;
    const auto known = std::find_if(alike.begin(), alike.end(), [&](const auto& row) {
      return row.first->order == timing.order &&
             deadlock_text(*row.first->deadlock) == deadlock_text(*timing.deadlock);
    });
    if (known == alike.end())
      alike.emplace_back(&timing, bytes_text(timing.bytes));
    else
      known->second += ", " + bytes_text(timing.bytes);
  }
  if (alike.empty()) return;
  report.add_line("");
  Section& deadlocks = report.add_section("", "deadlocks", Audience::text);
  for (const auto& [timing, sizes] : alike)
    deadlocks.add_text(std::string(name_of(timing->order)),
                       fmt::format("{}: {}", sizes, deadlock_text(*timing->deadlock)));
}

void add_bars(Report& report, const MeshBenchResult& result) {
  std::int64_t largest = 0;
  for (const MeshTiming& timing : result.timings)
    if (!timing.timeline.end_seconds.empty()) largest = std::max(largest, timing.bytes);
  for (const MeshTiming& timing : result.timings) {
    if (timing.bytes != largest || timing.timeline.end_seconds.empty()) continue;
    report.add_line("");
    const std::vector<double>& ends = timing.timeline.end_seconds;
    Section& section =
        report.add_section("",
                           fmt::format("{}: {}{}", name_of(timing),
                                       time_text(*std::max_element(ends.begin(), ends.end())),
                                       timing.deadlock ? ", then resolved" : ""),
                           Audience::text);
    const std::vector<std::string> bars = bars_of(timing.timeline, bar_columns);
    for (std::size_t rank = 0; rank < std::min(bars.size(), most_bars); ++rank)
      section.add_text(fmt::format("rank {}", rank),
                       fmt::format("|{}| {}", bars[rank], time_text(ends[rank])));
    if (bars.size() > most_bars)
      section.add_line(fmt::format("and {}", counted(bars.size() - most_bars, "rank")));
  }
  if (largest == 0) return;
  report.add_line("");
  report.add_line(
      "bars: s sending, r receiving, x both, . waiting for a neighbour to reach its call");
  if (result.nodes > 1)
    report.add_line("nodes have separate clocks: each rank's bar begins at its own start");
}

}  // namespace

std::string name_of(const MeshTiming& timing) {
  return fmt::format("{}, {}", name_of(timing.order), bytes_text(timing.bytes));
}

Report report_of(const MeshBenchResult& result) {
  Report report("bench mesh", "mesh exchange, orders of posting messages");
  add_where(report, result);
  add_json_cases(report, result);
  add_json_messages(report, result);
  add_times(report, result);
  add_deadlocks(report, result);
  add_bars(report, result);
  add_notes(report, result.notes, result.timings);
  return report;
}

std::optional<std::string> wrong_of(const MeshBenchResult& result) {
  return first_wrong(result.timings);
}

}  // namespace halocline::bench
