// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "bench/halo_bench.hpp"
#include "bench/rivals.hpp"
#include "bench/traits.hpp"
#include "grid/text.hpp"

namespace halocline::bench {
namespace {

/// Returns the transports, or the title of a rival.
std::string transport_text(const HaloTiming& timing) {
  return timing.rival.empty() ? text_of(timing.transports) : find_rival(timing.rival).title;
}

bool is_same_case(const HaloTiming& a, const HaloTiming& b) {
  return a.cells_per_rank == b.cells_per_rank && a.width == b.width && a.fields == b.fields &&
         a.memory == b.memory;
}

/// Returns all timings; rivals that ran follow the transports of their case.
std::vector<HaloTiming> timings_of(const HaloBenchResult& result) {
  std::vector<HaloTiming> rows = result.timings;
  for (const HaloTiming& rival : result.rivals) {
    if (rival.not_run) continue;
    const auto last = std::find_if(rows.rbegin(), rows.rend(),
                                   [&](const HaloTiming& row) { return is_same_case(row, rival); });
    rows.insert(last == rows.rend() ? rows.end() : last.base(), rival);
  }
  return rows;
}

/// Returns the median of a rival in the case of a transport.
std::optional<double> rival_seconds(const HaloBenchResult& result, const Rival& rival,
                                    const HaloTiming& timing) {
  for (const HaloTiming& of : result.rivals)
    if (of.rival == rival.name && is_same_case(of, timing) && of.time.repetitions > 0)
      return of.time.median_seconds;
  return std::nullopt;
}

/// Returns that median over the transport's: above 1 the transport is faster. Nothing for rivals
/// themselves.
std::optional<double> ratio_to(const HaloBenchResult& result, const Rival& rival,
                               const HaloTiming& timing) {
  const std::optional<double> seconds = rival_seconds(result, rival, timing);
  if (!seconds || !timing.rival.empty() || timing.time.repetitions == 0) return std::nullopt;
  return *seconds / timing.time.median_seconds;
}

constexpr auto memcpy_text =
    "one memcpy of the same number of bytes in each rank, all ranks at once";
constexpr auto link_text = "copies of 64 MiB from each GPU to its neighbours, all at once";

/// An upper bound of rates: a column of the table of times and a line below it.
struct Ceiling {
  std::string name, text;
  std::optional<double> HaloTiming::*rate;
  std::optional<double> share(const HaloTiming& timing) const {
    if (!(timing.*rate) || !timing.gigabytes_per_second) return std::nullopt;
    return *timing.gigabytes_per_second / *(timing.*rate);
  }
};

std::vector<Ceiling> ceilings() {
  return {{"memcpy", memcpy_text, &HaloTiming::memcpy_gigabytes_per_second},
          {"link", link_text, &HaloTiming::link_gigabytes_per_second}};
}

std::vector<Ceiling> ceilings_known(const HaloBenchResult& result) {
  std::vector<Ceiling> known;
  for (const Ceiling& ceiling : ceilings())
    if (std::any_of(result.timings.begin(), result.timings.end(),
                    [&](const HaloTiming& timing) { return ceiling.share(timing).has_value(); }))
      known.push_back(ceiling);
  return known;
}

/// Returns "390 GB/s", or "390 to 395 GB/s" if cases differ.
std::string rates_text(const HaloBenchResult& result, const Ceiling& ceiling) {
  double least = 0, most = 0;
  for (const HaloTiming& timing : result.timings)
    if (const auto rate = timing.*ceiling.rate) {
      least = least == 0 ? *rate : std::min(least, *rate);
      most = std::max(most, *rate);
    }
  const std::string text = write_number(most, Format::rate("GB/s", 3));
  const std::string lower = write_number(least, Format::rate("", 3));
  return least == most ? text : fmt::format("{} to {}", lower, text);
}

using HaloTrait = Trait<HaloTiming>;

std::vector<HaloTrait> halo_traits() {
  return {
      {"cells/rank", "",
       [](const HaloTiming& timing) { return grid::text_of(timing.cells_per_rank); }},
      {"width", "halo width",
       [](const HaloTiming& timing) { return fmt::to_string(timing.width); }},
      {"fields", "fields", [](const HaloTiming& timing) { return fmt::to_string(timing.fields); }},
      {"memory", "memory", [](const HaloTiming& timing) { return timing.memory; }},
      {"transport", "", transport_text},
      {"graph", "graph", [](const HaloTiming& timing) { return timing.graph; }}};
}

/// Returns the rivals with which some timing is compared.
std::vector<Rival> rivals_known(const HaloBenchResult& result) {
  std::vector<Rival> known;
  for (const Rival& rival : rivals())
    if (std::any_of(result.timings.begin(), result.timings.end(), [&](const HaloTiming& timing) {
          return ratio_to(result, rival, timing).has_value();
        }))
      known.push_back(rival);
  return known;
}

std::string process_grids_text(const HaloBenchResult& result) {
  std::string text;
  std::set<std::string> seen;
  for (const HaloTiming& timing : result.timings) {
    const std::string grid = grid::text_of(timing.process_grid);
    if (seen.insert(grid).second) text += (text.empty() ? "" : " or ") + grid;
  }
  return text;
}

std::string periodic_text(const HaloBenchResult& result) {
  std::string axes;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (result.periodic[axis]) axes += "xyz"[axis];
  return axes;
}

void add_where(Report& report, const HaloBenchResult& result) {
  const std::string periodic = periodic_text(result);
  add_ranks(report, result.ranks, result.nodes,
            fmt::format(", process grid {}{}", process_grids_text(result),
                        periodic.empty() ? "" : fmt::format(", periodic along {}", periodic)));
  report.add_json("periodic", std::vector<bool>(result.periodic.begin(), result.periodic.end()));
  add_shared_traits(report, halo_traits(), timings_of(result));
  add_devices(report, result.devices);
  report.add("mpi", "MPI", result.mpi);
}

/// Adds everything about each case, as rows of a data frame.
void add_json_cases(Report& report, const HaloBenchResult& result) {
  Table table = json_table(
      "cases", {"cells_per_rank",  "process_grid",    "width",         "fields",        "memory",
                "transport",       "graph",           "verified",      "repetitions",   "min_us",
                "median_us",       "p99_us",          "messages",      "bytes",         "gb_per_s",
                "memcpy_gb_per_s", "share_of_memcpy", "link_gb_per_s", "share_of_link", "pack_us",
                "move_us",         "call_us",         "wait_us",       "unpack_us"});
  for (const Rival& rival : rivals())
    for (const char* what : {"us", "ratio"})
      table.columns.push_back({fmt::format("{}_{}", rival.name, what), {}});
  for (const HaloTiming& timing : result.timings) {
    const bool timed = !timing.wrong;
    const auto us = [&](double seconds) { return timed ? Value(seconds * 1e6) : Value(); };
    std::vector<Value> row{list_of(timing.cells_per_rank),
                           list_of(timing.process_grid),
                           timing.width,
                           timing.fields,
                           timing.memory,
                           transport_text(timing),
                           timing.graph,
                           timed,
                           timing.time.repetitions,
                           us(timing.time.min_seconds),
                           us(timing.time.median_seconds),
                           us(timing.time.p99_seconds),
                           timing.messages,
                           timing.bytes,
                           timing.gigabytes_per_second};
    for (const Ceiling& ceiling : ceilings()) {
      row.push_back(timing.*ceiling.rate);
      row.push_back(ceiling.share(timing));
    }
    for (std::size_t p = 0; p < 5; ++p)
      row.push_back(p < timing.phases.size() ? us(timing.phases[p].second) : Value());
    for (const Rival& rival : rivals()) {
      const std::optional<double> seconds = rival_seconds(result, rival, timing);
      row.push_back(seconds ? Value(*seconds * 1e6) : Value());
      row.push_back(ratio_to(result, rival, timing));
    }
    table.add(std::move(row));
  }
  report.add_table(std::move(table));
}

/// Adds rivals, separate from cases.
void add_json_rivals(Report& report, const HaloBenchResult& result) {
  Table table = json_table(
      "rivals", {"cells_per_rank", "process_grid", "width", "fields", "memory", "rival", "not_run",
                 "verified", "repetitions", "min_us", "median_us", "p99_us", "messages", "bytes"});
  for (const HaloTiming& timing : result.rivals) {
    const bool timed = !timing.wrong && !timing.not_run;
    const auto if_run = [&](Value value) { return timing.not_run ? Value() : std::move(value); };
    const auto us = [&](double seconds) { return timed ? Value(seconds * 1e6) : Value(); };
    table.add({list_of(timing.cells_per_rank), list_of(timing.process_grid), timing.width,
               timing.fields, timing.memory, timing.rival, timing.not_run, if_run(timed),
               if_run(timing.time.repetitions), us(timing.time.min_seconds),
               us(timing.time.median_seconds), us(timing.time.p99_seconds), if_run(timing.messages),
               if_run(timing.bytes)});
  }
  report.add_table(std::move(table));
}

void add_times(Report& report, const HaloBenchResult& result) {
  const std::vector<HaloTiming> rows = timings_of(result);
  const std::vector<HaloTrait> columns = columns_among(halo_traits(), rows);
  Table table = table_of(
      "one exchange: the slowest rank's us; messages and their size of the busiest rank", columns);
  const std::vector<Ceiling> known = ceilings_known(result);
  const Format us = Format::rate("", 3);
  table.columns.insert(table.columns.end(), {{"messages", "msgs"},
                                             {"bytes", "size"},
                                             {"min", "min", us},
                                             {"median", "median", us},
                                             {"p99", "p99", us},
                                             {"rate", "GB/s", Format::rate("", 3)}});
  for (const Ceiling& ceiling : known)
    table.columns.push_back({ceiling.name, "% of " + ceiling.name, Format::rate("", 2)});
  const std::vector<Rival> compared = rivals_known(result);
  for (const Rival& rival : compared)
    table.columns.push_back({rival.name, fmt::format("vs {}", rival.title), Format::rate("", 3)});
  for (const HaloTiming& timing : rows) {
    if (timing.wrong) continue;
    std::vector<Value> row = cells_of(columns, timing);
    row.insert(row.end(), {timing.messages, bytes_text(timing.bytes), timing.time.min_seconds * 1e6,
                           timing.time.median_seconds * 1e6, timing.time.p99_seconds * 1e6,
                           timing.gigabytes_per_second});
    for (const Ceiling& ceiling : known) {
      std::optional<double> percent = ceiling.share(timing);
      if (percent) *percent *= 100;
      row.push_back(percent);
    }
    for (const Rival& rival : compared) row.push_back(ratio_to(result, rival, timing));
    table.add(std::move(row));
  }
  if (table.rows.empty()) return;
  report.add_line("");
  report.add_table(std::move(table));
  if (std::any_of(result.timings.begin(), result.timings.end(),
                  [](const HaloTiming& timing) { return timing.graph == "on"; }))
    report.add_line(fmt::format(
        "graph on: means of {} exchanges in one CUDA graph, launch included", exchanges_per_graph));
  for (const Ceiling& ceiling : known)
    report.add_line(fmt::format("{}: {}{}", ceiling.name, ceiling.text,
                                ceiling.name == "link" ? ": " + rates_text(result, ceiling) : ""));
  for (const Rival& rival : compared) {
    report.add_line(fmt::format("{}: {}", rival.title, rival.text));
    report.add_line(
        fmt::format("vs {}: their median over the row's; above 1 the row is faster", rival.title));
  }
}

void add_phases(Report& report, const HaloBenchResult& result) {
  const std::vector<HaloTrait> columns = columns_among(halo_traits(), timings_of(result));
  Table table = table_of(
      "phases: us per exchange, mean over ranks and repetitions, stragglers included", columns);
  std::vector<std::size_t> shown;
  for (std::size_t p = 0; p < 5; ++p)
    for (const HaloTiming& timing : result.timings)
      if (p < timing.phases.size() && timing.phases[p].second > 0 &&
          (shown.empty() || shown.back() != p)) {
        shown.push_back(p);
        table.columns.push_back(
            {timing.phases[p].first, timing.phases[p].first, Format::rate("", 3)});
      }
  for (const HaloTiming& timing : result.timings) {
    if (timing.phases.empty()) continue;
    std::vector<Value> row = cells_of(columns, timing);
    for (const std::size_t p : shown) row.push_back(timing.phases[p].second * 1e6);
    table.add(std::move(row));
  }
  if (table.rows.empty() || shown.empty()) return;
  report.add_line("");
  report.add_table(std::move(table));
}

}  // namespace

std::string name_of(const HaloTiming& timing) {
  return fmt::format("{} per rank by {}", grid::cells_text(timing.cells_per_rank),
                     transport_text(timing));
}

Report report_of(const HaloBenchResult& result) {
  Report report("bench halo",
                fmt::format("halo exchange, {}, {}", result.precision,
                            result.neighbours == Neighbours::faces ? "faces only"
                                                                   : "faces, edges and corners"));
  report.add_json("precision", result.precision);
  report.add_json("neighbours", result.neighbours == Neighbours::faces ? "faces" : "all");
  add_where(report, result);
  for (const Ceiling& ceiling : ceilings()) report.add_json(ceiling.name, ceiling.text);
  for (const Rival& rival : rivals()) report.add_json(rival.name, rival.text);
  report.add_json("exchanges_per_graph", exchanges_per_graph);
  add_json_cases(report, result);
  add_json_rivals(report, result);
  add_times(report, result);
  add_phases(report, result);
  add_notes(report, result.notes, timings_of(result));
  return report;
}

std::optional<std::string> wrong_of(const HaloBenchResult& result) {
  return first_wrong(timings_of(result));
}

}  // namespace halocline::bench
