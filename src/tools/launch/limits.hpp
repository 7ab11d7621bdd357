// SPDX-License-Identifier: Apache-2.0
#pragma once
// Resource limits that may keep ranks from starting or working.

#include <cstdint>
#include <optional>
#include <string>

namespace halocline {

struct ProcessLimits {
  // Nothing: unlimited.
  std::optional<std::int64_t> open_files = {}, processes = {};
  std::optional<std::int64_t> address_bytes = {};  ///< of each process
  std::optional<std::int64_t> file_bytes = {};     ///< of each file, also in shared memory
  std::optional<std::int64_t> cpu_seconds = {};    ///< of each process
};
ProcessLimits process_limits();

/// "open files: at most 30 (ulimit -n), processes: unlimited (ulimit -u)".
std::string words_for(const ProcessLimits& limits);

}  // namespace halocline
