// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "bench/traits.hpp"
#include "lab/first_use.hpp"

namespace halocline::bench {
namespace {

constexpr auto steady_text =
    "the median of the second half; reached at the first of three exchanges in a row that take at "
    "most 1.5 times as long";

using FirstUseTrait = Trait<FirstUseTiming>;

std::vector<FirstUseTrait> first_use_traits() {
  return {
      {"memory", "memory", [](const FirstUseTiming& timing) { return timing.memory; }},
      {"transport", "", [](const FirstUseTiming& timing) { return text_of(timing.transports); }},
      {"message", "", [](const FirstUseTiming& timing) { return bytes_text(timing.bytes); }}};
}

void add_json_cases(Report& report, const FirstUseBenchResult& result) {
  Table table{.key = "cases", .title = "", .columns = {}, .audience = Audience::json};
  for (const char* key : {"memory", "transport", "bytes", "verified", "open_us", "exchanges_us",
                          "steady_us", "steady_from", "extra_us"})
    table.columns.push_back({key, key});
  for (const FirstUseTiming& timing : result.timings) {
    std::vector<double> us;
    for (const double seconds : timing.seconds) us.push_back(1e6 * seconds);
    table.add({timing.memory, text_of(timing.transports), timing.bytes, !timing.wrong,
               1e6 * timing.open_seconds, us, 1e6 * timing.steady_seconds, timing.steady_from + 1,
               1e6 * timing.extra_seconds});
  }
  report.add_table(std::move(table));
}

void add_times(Report& report, const FirstUseBenchResult& result) {
  Table table{
      .key = "times", .title = "us of the slowest rank", .columns = {}, .audience = Audience::text};
  const std::vector<FirstUseTrait> columns = columns_among(first_use_traits(), result.timings);
  for (const FirstUseTrait& trait : columns) table.columns.push_back({trait.label, trait.label});
  const Format us = Format::rate("", 3);
  for (Column column :
       {Column{"open", "open", us}, Column{"first", "1st", us}, Column{"second", "2nd", us},
        Column{"third", "3rd", us}, Column{"steady", "steady", us},
        Column{"steady_from", "steady from"}, Column{"extra", "extra", us}})
    table.columns.push_back(std::move(column));
  for (const FirstUseTiming& timing : result.timings) {
    std::vector<Value> row;
    for (const FirstUseTrait& trait : columns) row.push_back(trait.text(timing));
    const auto us_of = [](double seconds) { return Value(1e6 * seconds); };
    for (Value value :
         {us_of(timing.open_seconds), us_of(timing.seconds.at(0)), us_of(timing.seconds.at(1)),
          us_of(timing.seconds.at(2)), us_of(timing.steady_seconds), Value(timing.steady_from + 1),
          us_of(timing.extra_seconds)})
      row.push_back(std::move(value));
    table.add(std::move(row));
  }
  report.add_line("");
  report.add_table(std::move(table));
  report.add_line("open: time to make the plan; 1st, 2nd, 3rd: its first exchanges");
  report.add_line(fmt::format("steady: {}", steady_text));
  report.add_line(
      "extra: the extra time of earlier exchanges; costs paid once per process are in the first "
      "row");
}

}  // namespace

std::string name_of(const FirstUseTiming& timing) {
  return fmt::format("{} by {} with {} memory", bytes_text(timing.bytes),
                     text_of(timing.transports), timing.memory);
}

Report report_of(const FirstUseBenchResult& result) {
  Report report("bench first-use", "first exchanges of a plan, ranks in a row");
  add_ranks(report, result.ranks, result.nodes);
  add_shared_traits(report, first_use_traits(), result.timings);
  add_devices(report, result.devices);
  report.add("mpi", "MPI", result.mpi);
  if (!result.devices.empty() && result.devices[0].kind == "gpu")
    report.add("place_seconds", "start of GPUs", result.place_seconds, Format::time());
  else
    report.add_json("place_seconds", result.place_seconds);
  report.add_json("steady", steady_text);
  add_json_cases(report, result);
  add_times(report, result);
  add_notes(report, result.notes, result.timings);
  return report;
}

std::optional<std::string> wrong_of(const FirstUseBenchResult& result) {
  return first_wrong(result.timings);
}

}  // namespace halocline::bench
