// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of reports that several benchmarks share.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <halocline/run_result.hpp>

#include "program/run_report.hpp"
#include "report/report.hpp"

namespace halocline::bench {

/// A property of cases: a column of tables, or a line above them if it is the same for all cases.
template <class Timing>
struct Trait {
  std::string label;  ///< of the column
  std::string name;   ///< of the line; empty: always a column
  std::function<std::string(const Timing&)> text;

  bool is_column(const std::vector<Timing>& timings) const {
    return name.empty() || std::any_of(timings.begin(), timings.end(), [&](const Timing& timing) {
             return text(timing) != text(timings[0]);
           });
  }
};

template <class Timing>
std::vector<Trait<Timing>> columns_among(std::vector<Trait<Timing>> traits,
                                         const std::vector<Timing>& timings) {
  std::erase_if(traits, [&](const Trait<Timing>& trait) { return !trait.is_column(timings); });
  return traits;
}

/// Returns a text table with a column for each trait.
template <class Timing>
Table table_of(const std::string& title, const std::vector<Trait<Timing>>& traits) {
  Table table{.key = {}, .title = title, .columns = {}, .audience = Audience::text};
  for (const Trait<Timing>& trait : traits) table.columns.push_back({trait.label, trait.label});
  return table;
}

template <class Timing>
std::vector<Value> cells_of(const std::vector<Trait<Timing>>& traits, const Timing& timing) {
  std::vector<Value> cells;
  for (const Trait<Timing>& trait : traits) cells.push_back(trait.text(timing));
  return cells;
}

/// Adds a line for each trait that is the same for all cases, unless it is off.
template <class Timing>
void add_shared_traits(Report& report, const std::vector<Trait<Timing>>& traits,
                       const std::vector<Timing>& timings) {
  for (const Trait<Timing>& trait : traits)
    if (!timings.empty() && !trait.is_column(timings) && trait.text(timings[0]) != "off")
      report.add_text(trait.name, trait.text(timings[0]));
}

using program::list_of;

/// Returns "shared", or "same-node shared, other-node mpi" if pairs differ. Copies inside a rank
/// count only without other transports. Empty for none.
std::string text_of(const std::vector<std::pair<std::string, std::string>>& transports);

/// Adds "2 on 1 node", followed by `more`.
void add_ranks(Report& report, int ranks, int nodes, const std::string& more = "");
void add_devices(Report& report, const std::vector<RunDevice>& devices);

/// Returns the first wrong measurement, by its name_of(); nothing if there is none.
template <class Measurement>
std::optional<std::string> first_wrong(const std::vector<Measurement>& measurements) {
  for (const Measurement& one : measurements)
    if (one.wrong) return fmt::format("{}: {}", name_of(one), *one.wrong);
  return std::nullopt;
}

/// Ends a report with notes, and one more for each wrong measurement.
template <class Measurement>
void add_notes(Report& report, std::vector<std::string> notes,
               const std::vector<Measurement>& measurements) {
  for (const Measurement& one : measurements)
    if (one.wrong) notes.push_back(fmt::format("{}: WRONG: {}", name_of(one), *one.wrong));
  if (!notes.empty()) report.add_line("");
  report.add_notes("notes", notes);
}

}  // namespace halocline::bench
