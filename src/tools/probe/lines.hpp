// SPDX-License-Identifier: Apache-2.0
#pragma once
// Output lines of a probe's ranks. After a crash they show how far it came.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/json_text.hpp"
#include "probe/paths.hpp"

namespace halocline::probe {

/// The beginning of such lines.
inline constexpr std::string_view line_mark = "halocline-probe: ";

/// Returns a line for a rank to print, without the end of the line.
std::string line_of(std::string_view kind, const Json& content);

/// Calls `read` with the kind and content of each line. Skips other lines, prefixes added by
/// launchers, an incomplete last line, and lines for which `read` throws.
void read_lines(std::string_view output,
                const std::function<void(const std::string& kind, const Json& content)>& read);

/// Reports the kinds of pairs that a path's messages connect.
std::string pairs_line(const Path& path, const std::vector<GpuPair>& pairs);
/// Announces a size of a path. The last one shows where a probe crashed or hung.
std::string trying_line(const Path& path, std::int64_t bytes);
/// Reports that every byte of a size arrived; `us` is 0 if it was not timed.
std::string arrived_line(const Path& path, Time time);
/// Reports that the exchanges kept the order of a GPU's stream.
std::string in_order_line(const Path& path, std::int64_t bytes);
/// `refused` as PathResult::is_refused.
std::string outcome_line(const Path& path, Outcome outcome, const std::string& how,
                         bool refused = false);
/// Reports that the ranks have finished.
std::string ends_line();

/// Results read from a probe's output. A path without an outcome was interrupted by the end of the
/// job.
struct PathLines {
  struct Row {
    PathResult result;
    bool is_decided = false;
  };
  std::vector<Row> rows;
  bool ended = false;
};
PathLines read_paths(std::string_view output);

}  // namespace halocline::probe
