// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the shell allows its processes, as far as it may keep a launcher from starting ranks.

#include <cstdint>
#include <optional>
#include <string>

namespace halocline {

struct ProcessLimits {
  std::optional<std::int64_t> open_files = {}, processes = {};  ///< nothing: unlimited
};
ProcessLimits process_limits();

/// "open files: at most 30 (ulimit -n), processes: unlimited (ulimit -u)".
std::string words_for(const ProcessLimits& limits);

}  // namespace halocline
