// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is different between two reports of doctor.

#include <string>
#include <string_view>
#include <vector>

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

}  // namespace halocline::doctor
