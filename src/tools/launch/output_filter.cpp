// SPDX-License-Identifier: Apache-2.0
#include "launch/output_filter.hpp"

#include <algorithm>
#include <utility>

namespace halocline {
namespace {

// Lines of Open MPI have 74 or 76 dashes.
constexpr std::size_t dashes_of_a_rule = 60;

std::string_view without_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

bool is_dashes(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c == '-'; });
}

/// Recognizes "[node:1234] 1 more process has sent help message ...", Open MPI's hint after it, and
/// "mpiexec: Forwarding signal 18 to job".
bool is_chatter(std::string_view line) {
  return line.find(": Forwarding signal ") != std::string_view::npos ||
         line.find("sent help message help-") != std::string_view::npos ||
         line.find("orte_base_help_aggregate") != std::string_view::npos ||
         line.find("prte_base_help_aggregate") != std::string_view::npos;
}

}  // namespace

std::string OutputFilter::pass(std::string_view piece) {
  kept_ += piece;
  std::string passed;
  std::size_t done = 0;
  for (std::size_t end; (end = kept_.find('\n', done)) != std::string::npos; done = end + 1)
    take_line(std::string_view(kept_).substr(done, end + 1 - done), passed);
  const std::string_view rest = std::string_view(kept_).substr(done);
  const std::size_t more = passable(rest);
  passed += rest.substr(0, more);
  line_has_begun_ = line_has_begun_ || more > 0;
  kept_.erase(0, done + more);
  return passed;
}

std::string OutputFilter::finish() {
  std::string rest;
  if (!kept_.empty()) take_line(std::exchange(kept_, {}), rest);
  // Without a second line of dashes it was not an explanation.
  return std::exchange(explanation_, {}) + rest;
}

/// Handles a whole line, or the part that has not been passed on.
void OutputFilter::take_line(std::string_view line, std::string& passed) {
  const bool is_whole = !std::exchange(line_has_begun_, false);
  const std::size_t at = mark_.empty() ? std::string_view::npos : line.find(mark_);
  if (at != std::string_view::npos) {
    marked_.emplace_back(without_end(line.substr(at + mark_.size())));
    // Removes the launcher's prefix of the line, but keeps a preceding progress line.
    const std::size_t before = line.rfind('\r', at);
    if (before != std::string_view::npos) passed += line.substr(0, before + 1);
    return;
  }
  if (!is_whole || !take_explanation(line)) passed += line;
}

bool OutputFilter::take_explanation(std::string_view line) {
  if (explanations_ == Explanations::passed) return false;
  const std::string_view text = without_end(line);
  const bool is_rule = text.size() >= dashes_of_a_rule && is_dashes(text);
  if (!explains_ && !is_rule) return is_chatter(line);
  explanation_ += line;
  if (is_rule) explains_ = !explains_;
  if (!explains_) withheld_ += std::exchange(explanation_, {});
  return true;
}

/// Returns how much of an incomplete line can be passed on: not what may belong to a mark or a line
/// of dashes.
std::size_t OutputFilter::passable(std::string_view part) const {
  if (explanations_ == Explanations::withheld && !line_has_begun_ && (explains_ || is_dashes(part)))
    return 0;
  if (mark_.empty()) return part.size();
  if (part.find(mark_) != std::string_view::npos) return 0;
  for (std::size_t kept = std::min(part.size(), mark_.size() - 1); kept > 0; --kept)
    if (part.ends_with(std::string_view(mark_).substr(0, kept))) return part.size() - kept;
  return part.size();
}

}  // namespace halocline
