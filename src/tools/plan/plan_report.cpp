// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/text/words.hpp"
#include "grid/text.hpp"
#include "plan/prospects.hpp"
#include "program/run_report.hpp"

namespace halocline::plan {
namespace {

// The text shows the best rows; JSON has all.
constexpr std::size_t most_shown = 8;

using program::list_of;

void add_json_ways(Report& report, const Plan& plan) {
  Table& table = report.add_table(
      json_table("process_grids", {"process_grid", "cells_per_rank", "messages", "bytes",
                                   "memory_bytes", "imbalance", "redundant_updates"}));
  for (const Prospect& way : plan.prospects)
    table.add({list_of(way.process_grid), list_of(way.cells_per_rank), way.messages, way.bytes,
               way.memory_bytes, way.imbalance, way.redundant});
  Table& refused = report.add_table(json_table("refused", {"process_grid", "why"}));
  for (const Refusal& refusal : plan.refused)
    refused.add({list_of(refusal.process_grid), refusal.why});
}

void add_shown_ways(Report& report, const Plan& plan) {
  Table table{.key = "process_grids_shown",
              .title = "values of the busiest rank, least traffic cost first",
              .columns = {{"process_grid", "process grid"},
                          {"cells_per_rank", "cells"},
                          {"messages", "messages"},
                          {"bytes", "bytes sent", Format::bytes()},
                          {"memory", "memory", Format::bytes()},
                          {"over", "over mean"}},
              .audience = Audience::text};
  const bool repeats = plan.halo_depth > 1 || plan.sweeps_per_pass > 1;
  if (repeats) table.columns.push_back({"redundant", "redundant"});
  for (std::size_t i = 0; i < std::min(plan.prospects.size(), most_shown); ++i) {
    const Prospect& way = plan.prospects[i];
    std::vector<Value> row{grid::text_of(way.process_grid),
                           grid::text_of(way.cells_per_rank),
                           way.messages,
                           way.bytes,
                           way.memory_bytes,
                           fmt::format("{:.1f} %", 100 * (way.imbalance - 1))};
    if (repeats) row.emplace_back(fmt::format("{:.1f} %", 100 * way.redundant));
    table.add(std::move(row));
  }
  report.add_table(std::move(table));
  if (plan.prospects.size() > most_shown)
    report.add_line(fmt::format("and {} with a higher cost; --json lists all",
                                counted(plan.prospects.size() - most_shown, "process grid")));
}

void add_shown_refusals(Report& report, const Plan& plan) {
  if (plan.refused.empty()) return;
  Table table{.key = "refused_shown",
              .title = "refused",
              .columns = {{"process_grid", "process grid"}, {"why", "why"}},
              .audience = Audience::text};
  for (std::size_t i = 0; i < std::min(plan.refused.size(), most_shown); ++i)
    table.add({grid::text_of(plan.refused[i].process_grid), plan.refused[i].why});
  report.add_line("");
  report.add_table(std::move(table));
  if (plan.refused.size() > most_shown)
    report.add_line(fmt::format("and {} more", plan.refused.size() - most_shown));
}

}  // namespace

Report report_of(const Plan& plan) {
  Report report("plan", fmt::format("{} {}-D, {}, {}, on {}", plan.problem, plan.cells.axes(),
                                    grid::cells_text(plan.cells), plan.precision,
                                    counted(plan.ranks, "rank")));
  report.add_json("problem", plan.problem);
  report.add_json("cells", list_of(plan.cells));
  report.add_json("precision", plan.precision);
  report.add_json("ranks", plan.ranks);
  report.add_json("halo_depth", plan.halo_depth);
  report.add_json("sweeps_per_pass", plan.sweeps_per_pass);
  if (plan.sweeps_per_pass > 1)
    report.add_text("pass", fmt::format("{} sweeps in one over memory", plan.sweeps_per_pass));
  if (plan.halo_depth > 1) {
    const std::int64_t in_pass = plan.sweeps_per_pass;
    const std::int64_t in_exchange = std::max(plan.halo_depth / in_pass, std::int64_t{1}) * in_pass;
    report.add_text("exchange", fmt::format("every {} sweeps, halos {} times as deep", in_exchange,
                                            plan.halo_depth));
  }
  add_json_ways(report, plan);
  report.add_line("");
  add_shown_ways(report, plan);
  add_shown_refusals(report, plan);
  return report;
}

}  // namespace halocline::plan
