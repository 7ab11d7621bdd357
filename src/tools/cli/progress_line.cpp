// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_line.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>

#include <fmt/format.h>

#include "cli/print.hpp"

namespace halocline::cli {
namespace {

std::string time_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 120) return fmt::format("{} s", whole);
  const std::int64_t minutes = (whole + 59) / 60;
  return minutes < 120 ? fmt::format("{} min", minutes)
                       : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string progress_text(const SolveOptions::Progress& progress, const std::string& norm,
                          const std::string& saved) {
  const double seconds_left = progress.seconds /
                              static_cast<double>(progress.sweep - progress.first) *
                              static_cast<double>(progress.sweeps - progress.sweep);
  return fmt::format("sweep {} of {}{}, {:.3g} GLUP/s, at most {} left{}", progress.sweep,
                     progress.sweeps, norm, progress.glups, time_text(seconds_left), saved);
}

}  // namespace

void ProgressLine::show(const SolveOptions::Progress& progress) {
  const bool on_terminal = where_ == Where::terminal;
  if (progress.seconds < (on_terminal ? 2 : 60) || progress.seconds < next_) return;
  next_ = progress.seconds + (on_terminal ? 0.5 : 60);
  const std::string norm =
      progress.norm ? fmt::format(", norm {:.4g}", *progress.norm) : std::string();
  const std::string saved =
      progress.saved ? fmt::format(", saved {}", *progress.saved) : std::string();
  std::string text = progress_text(progress, norm, saved);
  // A terminal can overwrite one line, of 80 columns.
  if (on_terminal && !saved.empty() && text.size() > 80) text = progress_text(progress, "", saved);
  const std::lock_guard lock(one_at_a_time_);
  fmt::print(stderr, "{}{}{}", on_terminal ? "\r" : "", text, on_terminal ? "\033[K" : "\n");
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::interrupt(const std::string& text) {
  clear();
  print_error(text);
}

void ProgressLine::clear() {
  const std::lock_guard lock(one_at_a_time_);
  if (shown_ && where_ == Where::terminal) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace halocline::cli
