// SPDX-License-Identifier: Apache-2.0
#pragma once
// What tells the cases of a benchmark apart, and what reports of several benchmarks share.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halocline/run_result.hpp>

#include "program/run_report.hpp"
#include "report/report.hpp"

namespace halocline::bench {

/// A column of tables, or a line above them if all cases have the same.
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

/// Adds a line for each trait that all cases share, unless it is off.
template <class Timing>
void add_shared_traits(Report& report, const std::vector<Trait<Timing>>& traits,
                       const std::vector<Timing>& timings) {
  for (const Trait<Timing>& trait : traits)
    if (!timings.empty() && !trait.is_column(timings) && trait.text(timings[0]) != "off")
      report.add_text(trait.name, trait.text(timings[0]));
}

using program::list_of;

/// "shared", or "same-node shared, other-node mpi" where pairs differ; copies inside a rank count
/// only if there is nothing else. Empty for none.
std::string text_of(const std::vector<std::pair<std::string, std::string>>& transports);

/// Adds "2 on 1 node", with `more` behind it.
void add_ranks(Report& report, int ranks, int nodes, const std::string& more = "");
void add_devices(Report& report, const std::vector<RunDevice>& devices);

}  // namespace halocline::bench
