// SPDX-License-Identifier: Apache-2.0
#pragma once
// Differences between two doctor reports.

#include <string>
#include <string_view>
#include <vector>

#include "doctor/findings.hpp"

namespace halocline::doctor {

struct Change {
  std::string what;  ///< "facts.mpi", "path staged:device"
  std::string before, now;

  friend bool operator==(const Change&, const Change&) = default;
};

/// Compares reports in the form of render_json(): facts, outcomes of paths, times that differ by
/// half or more, findings. Throws usage, with the name `before_is`, if the earlier text is not a
/// doctor report.
std::vector<Change> changes(std::string_view before, std::string_view now,
                            const std::string& before_is);

/// Finds regressions between two such reports: paths that no longer work, and times that are
/// several times as long. Throws as changes() does.
std::vector<Finding> regressions(std::string_view before, std::string_view now,
                                 const std::string& before_is);

/// Returns the name of a change for people: "limit on locked memory" for "limits.memlock_bytes".
std::string words_for_change(const std::string& what);

}  // namespace halocline::doctor
