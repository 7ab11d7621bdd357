// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is told of measurements that moved a wrong byte.

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "report/report.hpp"

namespace halocline::bench {

/// The first that is wrong, by its name_of(); nothing if none is.
template <class Measurement>
std::optional<std::string> first_wrong(const std::vector<Measurement>& measurements) {
  for (const Measurement& one : measurements)
    if (one.wrong) return fmt::format("{}: {}", name_of(one), *one.wrong);
  return std::nullopt;
}

/// Ends a report with notes, and one more for each measurement that is wrong.
template <class Measurement>
void add_notes(Report& report, std::vector<std::string> notes,
               const std::vector<Measurement>& measurements) {
  for (const Measurement& one : measurements)
    if (one.wrong) notes.push_back(fmt::format("{}: WRONG: {}", name_of(one), *one.wrong));
  if (!notes.empty()) report.add_line("");
  report.add_notes("notes", notes);
}

}  // namespace halocline::bench
