// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/text/format.hpp"
#include "bench/traits.hpp"
#include "lab/overhead.hpp"

namespace halocline::bench {
namespace {

using Stand = MessageCost::Stand;

void add_where(Report& report, const OverheadBenchResult& result) {
  add_ranks(report, result.ranks, result.nodes);
  add_devices(report, result.devices);
  report.add("mpi", "MPI", result.mpi);
}

std::vector<Value> us_of(const timing::TimeSummary& time) {
  return {time.min_seconds * 1e6, time.median_seconds * 1e6, time.p99_seconds * 1e6};
}

/// Adds what is measured to a row, and the row to a table.
void add_row(Table& table, std::vector<Value> row, const timing::TimeSummary& time) {
  for (Value& us : us_of(time)) row.push_back(std::move(us));
  table.add(std::move(row));
}

Table table_for(std::string key, std::string title, std::vector<Column> columns,
                Audience audience) {
  Table table{.key = std::move(key),
              .title = std::move(title),
              .columns = std::move(columns),
              .audience = audience};
  const Format us = audience == Audience::text ? Format::rate("", 3) : Format();
  const bool text = audience == Audience::text;
  for (const char* name : {"min", "median", "p99"})
    table.columns.push_back({fmt::format("{}_us", name), text ? name : "", us});
  return table;
}

std::string_view stand_text(Stand stand) {
  constexpr std::string_view texts[] = {"before the process uses its GPU",
                                        "after the process has used its GPU",
                                        "after, in pinned memory"};
  return texts[static_cast<std::size_t>(stand)];
}

void add_messages(Report& report, const OverheadBenchResult& result) {
  Table json = table_for("messages", "",
                         {{"bytes", ""}, {"stand", ""}, {"verified", ""}, {"repetitions", ""}},
                         Audience::json);
  Table text = table_for("", "messages between ranks 0 and 1: half of a round trip, us",
                         {{"bytes", "message"}, {"stand", "host memory"}}, Audience::text);
  std::vector<std::int64_t> sizes;
  for (const MessageCost& cost : result.messages) {
    add_row(json, {cost.bytes, name_of(cost.stand), !cost.wrong, cost.time.repetitions}, cost.time);
    if (cost.stand == Stand::before_gpu) sizes.push_back(cost.bytes);
  }
  for (const std::int64_t bytes : sizes)
    for (const MessageCost& cost : result.messages)
      if (cost.bytes == bytes && !cost.wrong)
        add_row(text, {bytes_text(bytes), stand_text(cost.stand)}, cost.time);
  report.add_table(std::move(json));
  if (text.rows.empty()) return;
  report.add_line("");
  report.add_table(std::move(text));
}

void add_calls(Report& report, const std::string& key, const std::string& title,
               const std::vector<CallCost>& calls) {
  const bool sized =
      std::any_of(calls.begin(), calls.end(), [](const CallCost& call) { return call.bytes > 0; });
  std::vector<Column> json_columns{{"name", ""}, {"text", ""}}, text_columns;
  if (sized) {
    json_columns.push_back({"bytes", ""});
    text_columns.push_back({"bytes", "memory"});
  }
  text_columns.push_back({"text", "call"});
  json_columns.push_back({"repetitions", ""});
  Table json = table_for(key, "", json_columns, Audience::json);
  Table text = table_for("", title, text_columns, Audience::text);
  for (const CallCost& call : calls) {
    std::vector<Value> json_row{call.name, call.text}, text_row;
    if (sized) {
      json_row.emplace_back(call.bytes);
      text_row.emplace_back(bytes_text(call.bytes));
    }
    text_row.emplace_back(call.text);
    json_row.emplace_back(call.time.repetitions);
    add_row(json, std::move(json_row), call.time);
    add_row(text, std::move(text_row), call.time);
  }
  report.add_table(std::move(json));
  report.add_line("");
  report.add_table(std::move(text));
}

}  // namespace

std::string_view name_of(Stand stand) {
  constexpr std::string_view names[] = {"before-gpu", "host", "pinned"};
  return names[static_cast<std::size_t>(stand)];
}

std::string name_of(const MessageCost& cost) {
  return fmt::format("{} {}", bytes_text(cost.bytes), stand_text(cost.stand));
}

Report report_of(const OverheadBenchResult& result) {
  Report report("bench overhead", "what using a GPU costs the host");
  add_where(report, result);
  add_messages(report, result);
  add_calls(report, "pinning", "pinning memory: rank 0's us", result.pinning);
  add_calls(report, "waiting", "stream work and waiting for it: rank 0's us", result.waiting);
  add_notes(report, result.notes, result.messages);
  return report;
}

std::optional<std::string> wrong_of(const OverheadBenchResult& result) {
  return first_wrong(result.messages);
}

}  // namespace halocline::bench
