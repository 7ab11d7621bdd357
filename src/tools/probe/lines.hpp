// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the ranks of a probe say, line by line: the lines that came are all that is left of one that
// crashed.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/json_text.hpp"
#include "probe/paths.hpp"

namespace halocline::probe {

/// What such a line begins with.
inline constexpr std::string_view line_mark = "halocline-probe: ";

/// A line for a rank to print, without the end of the line: its kind, and what it says.
std::string line_of(std::string_view kind, const Json& content);

/// Calls `read` with each whole line's kind and content. Lines of others, and what launchers put in
/// front of lines, are passed over; so is a last line that is not whole, and one that `read` throws
/// for.
void read_lines(std::string_view output,
                const std::function<void(const std::string& kind, const Json& content)>& read);

/// Says which kinds of pairs the messages of a path go between.
std::string pairs_line(const Path& path, const std::vector<GpuPair>& pairs);
/// Begins a size of a path; the last one when the probe crashed or hung.
std::string trying_line(const Path& path, std::int64_t bytes);
/// Every byte of this size arrived; `us` is 0 if it was not timed.
std::string arrived_line(const Path& path, Time time);
/// And in the order of a GPU's stream.
std::string in_order_line(const Path& path, std::int64_t bytes);
/// `refused` as PathResult::is_refused.
std::string outcome_line(const Path& path, Outcome outcome, const std::string& how,
                         bool refused = false);
/// The ranks have done what they were asked for.
std::string ends_line();

/// What came of some paths; one that was begun and has no outcome ended with the job.
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
