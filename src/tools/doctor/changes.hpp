// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is different between two reports of doctor.

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

/// Compares reports as render_json() writes them: facts, what became of paths, times that differ
/// by half or more, findings. Throws usage, with the name `before_is`, if the earlier text is no
/// report of doctor.
std::vector<Change> changes(std::string_view before, std::string_view now,
                            const std::string& before_is);

/// What has become worse between two such reports: paths that worked and no longer do, and times
/// that are several times as long. Throws as changes().
std::vector<Finding> regressions(std::string_view before, std::string_view now,
                                 const std::string& before_is);

/// The name of a change for people: "limits.memlock_bytes" is "limit on locked memory".
std::string words_for_change(const std::string& what);

}  // namespace halocline::doctor
