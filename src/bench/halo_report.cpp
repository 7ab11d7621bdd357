#include "bench/halo_report.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "grid/text.hpp"

namespace halocline::bench {
namespace {

constexpr auto memcpy_text = "one memcpy of as many bytes within each rank, all ranks at once";

std::vector<std::int64_t> list_of(const Extents& extents) {
  std::vector<std::int64_t> list;
  for (int axis = 0; axis < extents.axes(); ++axis) list.push_back(extents[axis]);
  return list;
}

std::string plural(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

Value or_unknown(const std::optional<double>& value) { return value ? Value(*value) : Value(); }

std::optional<double> share_of_memcpy(const HaloTiming& timing) {
  if (!timing.memcpy_gigabytes_per_second || !timing.gigabytes_per_second) return std::nullopt;
  return *timing.gigabytes_per_second / *timing.memcpy_gigabytes_per_second;
}

/// What tells cases apart: a column of the tables, or a line above them if all have the same.
struct Trait {
  std::string label, name;  // of the column, of the line
  std::function<std::string(const HaloTiming&)> text;
};

std::vector<Trait> traits() {
  return {
      {"cells/rank", "",
       [](const HaloTiming& timing) { return grid::text_of(timing.cells_per_rank); }},
      {"width", "halo width",
       [](const HaloTiming& timing) { return fmt::to_string(timing.width); }},
      {"fields", "fields", [](const HaloTiming& timing) { return fmt::to_string(timing.fields); }},
      {"memory", "memory", [](const HaloTiming& timing) { return timing.memory; }},
      {"transport", "", transport_text}};
}

bool is_column(const HaloBenchResult& result, const Trait& trait) {
  const auto differs = [&](const HaloTiming& timing) {
    return trait.text(timing) != trait.text(result.timings[0]);
  };
  return trait.name.empty() || std::any_of(result.timings.begin(), result.timings.end(), differs);
}

std::vector<Trait> columns_of(const HaloBenchResult& result) {
  std::vector<Trait> columns;
  for (const Trait& trait : traits())
    if (is_column(result, trait)) columns.push_back(trait);
  return columns;
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

void add_devices(Report& report, const HaloBenchResult& result) {
  Table devices{.key = "devices",
                .title = "",
                .columns = {{"kind", "kind"},
                            {"name", "name"},
                            {"uuid", "uuid"},
                            {"host", "host"},
                            {"ranks", "ranks"}},
                .audience = Audience::json};
  std::string names;
  for (const SolveDevice& device : result.devices) {
    const bool gpu = device.kind == "gpu";
    devices.add({device.kind, device.name, gpu ? Value(device.uuid) : Value(),
                 gpu ? Value(device.host) : Value(), device.ranks});
    if (names.find(device.name) == std::string::npos)
      names += (names.empty() ? "" : " and ") + device.name;
  }
  report.add_text("runs on", result.devices.size() > 1
                                 ? fmt::format("{} x {}", result.devices.size(), names)
                                 : names);
  report.add_table(std::move(devices));
}

void add_where(Report& report, const HaloBenchResult& result) {
  const std::string periodic = periodic_text(result);
  report.add("ranks", "ranks", result.ranks,
             fmt::format("{} on {}, process grid {}{}", result.ranks, plural(result.nodes, "node"),
                         process_grids_text(result),
                         periodic.empty() ? "" : fmt::format(", periodic along {}", periodic)));
  report.add_json("nodes", result.nodes);
  report.add_json("periodic", std::vector<bool>(result.periodic.begin(), result.periodic.end()));
  for (const Trait& trait : traits())
    if (!result.timings.empty() && !is_column(result, trait))
      report.add_text(trait.name, trait.text(result.timings[0]));
  add_devices(report, result);
  report.add("mpi", "MPI", result.mpi);
}

/// Everything about each case, flat: a row is a row of a data frame.
void add_json_cases(Report& report, const HaloBenchResult& result) {
  Table table{.key = "cases", .title = "", .columns = {}, .audience = Audience::json};
  for (const char* key :
       {"cells_per_rank",  "process_grid", "width",       "fields",   "memory",
        "transport",       "verified",     "repetitions", "min_us",   "median_us",
        "p99_us",          "messages",     "bytes",       "gb_per_s", "memcpy_gb_per_s",
        "share_of_memcpy", "pack_us",      "move_us",     "call_us",  "wait_us",
        "unpack_us"})
    table.columns.push_back({key, key});
  for (const HaloTiming& timing : result.timings) {
    const bool timed = !timing.wrong;
    const auto us = [&](double seconds) { return timed ? Value(seconds * 1e6) : Value(); };
    std::vector<Value> row{list_of(timing.cells_per_rank),
                           list_of(timing.process_grid),
                           timing.width,
                           timing.fields,
                           timing.memory,
                           transport_text(timing),
                           timed,
                           timing.time.repetitions,
                           us(timing.time.min_seconds),
                           us(timing.time.median_seconds),
                           us(timing.time.p99_seconds),
                           timing.messages,
                           timing.bytes,
                           or_unknown(timing.gigabytes_per_second),
                           or_unknown(timing.memcpy_gigabytes_per_second),
                           or_unknown(share_of_memcpy(timing))};
    for (std::size_t p = 0; p < 5; ++p)
      row.push_back(timed ? us(timing.phases[p].second) : Value());
    table.add(std::move(row));
  }
  report.add_table(std::move(table));
}

void add_times(Report& report, const HaloBenchResult& result) {
  Table table{
      .key = "times",
      .title = "one exchange: the slowest rank's us; messages and bytes of the busiest rank",
      .columns = {},
      .audience = Audience::text};
  const std::vector<Trait> columns = columns_of(result);
  for (const Trait& trait : columns) table.columns.push_back({trait.label, trait.label});
  const bool with_memcpy =
      std::any_of(result.timings.begin(), result.timings.end(),
                  [](const HaloTiming& timing) { return share_of_memcpy(timing).has_value(); });
  const Format us = Format::rate("", 3);
  for (Column column : {Column{"messages", "msgs"}, Column{"bytes", "bytes"},
                        Column{"min", "min", us}, Column{"median", "median", us},
                        Column{"p99", "p99", us}, Column{"rate", "GB/s", Format::rate("", 3)}})
    table.columns.push_back(std::move(column));
  if (with_memcpy) table.columns.push_back({"share", "% of memcpy", Format::rate("", 2)});
  for (const HaloTiming& timing : result.timings) {
    if (timing.wrong) continue;
    std::vector<Value> row;
    for (const Trait& trait : columns) row.push_back(trait.text(timing));
    for (Value value :
         {Value(timing.messages), Value(timing.bytes), Value(timing.time.min_seconds * 1e6),
          Value(timing.time.median_seconds * 1e6), Value(timing.time.p99_seconds * 1e6),
          or_unknown(timing.gigabytes_per_second)})
      row.push_back(std::move(value));
    const std::optional<double> share = share_of_memcpy(timing);
    if (with_memcpy) row.push_back(share ? Value(*share * 100) : Value());
    table.add(std::move(row));
  }
  if (table.rows.empty()) return;
  report.add_line("");
  report.add_table(std::move(table));
  if (with_memcpy) report.add_line(fmt::format("memcpy: {}", memcpy_text));
}

void add_phases(Report& report, const HaloBenchResult& result) {
  Table table{
      .key = "phases",
      .title =
          "where it goes: us per exchange, mean over ranks and repetitions, stragglers included",
      .columns = {},
      .audience = Audience::text};
  const std::vector<Trait> columns = columns_of(result);
  for (const Trait& trait : columns) table.columns.push_back({trait.label, trait.label});
  std::vector<std::size_t> shown;
  for (std::size_t p = 0; p < 5; ++p)
    for (const HaloTiming& timing : result.timings)
      if (!timing.wrong && timing.phases[p].second > 0 && (shown.empty() || shown.back() != p)) {
        shown.push_back(p);
        table.columns.push_back(
            {timing.phases[p].first, timing.phases[p].first, Format::rate("", 3)});
      }
  for (const HaloTiming& timing : result.timings) {
    if (timing.wrong) continue;
    std::vector<Value> row;
    for (const Trait& trait : columns) row.push_back(trait.text(timing));
    for (const std::size_t p : shown) row.push_back(timing.phases[p].second * 1e6);
    table.add(std::move(row));
  }
  if (table.rows.empty() || shown.empty()) return;
  report.add_line("");
  report.add_table(std::move(table));
}

}  // namespace

std::string transport_text(const HaloTiming& timing) {
  std::string text, all_the_same;
  bool differ = false;
  for (const auto& [pair, transport] : timing.transports) {
    if (pair == "self" && timing.transports.size() > 1) continue;
    differ |= !all_the_same.empty() && all_the_same != transport;
    all_the_same = transport;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", pair, transport);
  }
  return differ ? text : all_the_same;
}

Report report_of(const HaloBenchResult& result) {
  Report report(
      "", fmt::format(
              "halo exchange, {}, {}", result.precision,
              result.neighbours == Neighbours::faces ? "faces only" : "faces, edges and corners"));
  report.add_json("bench", "halo");
  report.add_json("precision", result.precision);
  report.add_json("neighbours", result.neighbours == Neighbours::faces ? "faces" : "all");
  add_where(report, result);
  report.add_json("memcpy", memcpy_text);
  add_json_cases(report, result);
  add_times(report, result);
  add_phases(report, result);
  std::vector<std::string> notes = result.notes;
  for (const HaloTiming& timing : result.timings)
    if (timing.wrong)
      notes.push_back(fmt::format("{} cells per rank by {}: WRONG, not timed: {}",
                                  grid::text_of(timing.cells_per_rank), transport_text(timing),
                                  *timing.wrong));
  if (!notes.empty()) report.add_line("");
  report.add_notes("notes", notes);
  return report;
}

}  // namespace halocline::bench
