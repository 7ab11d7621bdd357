// SPDX-License-Identifier: Apache-2.0
#include "probe/probe_report.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace halocline::proof {
namespace {

using State = Step::State;

constexpr std::string_view words_of_states[] = {"trying", "proved", "wrong", "failed"};

std::string in_one_line(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

/// Cuts the first word off.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::optional<State> state_named(std::string_view word) {
  for (std::size_t i = 0; i < std::size(words_of_states); ++i)
    if (words_of_states[i] == word) return static_cast<State>(i);
  return std::nullopt;
}

void add_step(ProbeReport& report, State state, std::string_view rest) {
  const std::optional<Memory> memory = memory_named(take_word(rest));
  const std::string_view number = take_word(rest);
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bytes);
  if (!memory || error != std::errc{} || end != number.data() + number.size()) return;
  const Step step{*memory, bytes, state, std::string(rest)};
  const bool is_of_last = !report.steps.empty() && report.steps.back().memory == *memory &&
                          report.steps.back().bytes == bytes;
  if (!is_of_last)
    report.steps.push_back(step);
  else if (report.steps.back().state == State::trying)  // of several ranks, the first one's word
    report.steps.back() = step;
}

void read_line(ProbeReport& report, std::string_view line) {
  const std::size_t at = line.find(probe_mark);
  if (at == std::string_view::npos) return;
  line.remove_prefix(at + probe_mark.size());
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::string_view word = take_word(line);
  if (word == "begins") report.began = true;
  if (word == "ends") report.ended = true;
  if (const auto state = state_named(word)) add_step(report, *state, line);
  if (word == "pair") {
    const std::optional<GpuPair> pair = gpu_pair_named(line);
    if (pair && std::find(report.pairs.begin(), report.pairs.end(), *pair) == report.pairs.end())
      report.pairs.push_back(*pair);
  }
  if (word == "unavailable")
    if (const auto memory = memory_named(take_word(line)))
      report.unavailable.emplace_back(*memory, std::string(line));
}

}  // namespace

std::string begin_line() { return fmt::format("{}begins", probe_mark); }
std::string pair_line(GpuPair pair) { return fmt::format("{}pair {}", probe_mark, name_of(pair)); }
std::string end_line() { return fmt::format("{}ends", probe_mark); }

std::string step_line(const Step& step) {
  return fmt::format("{}{} {} {}{}{}", probe_mark,
                     words_of_states[static_cast<std::size_t>(step.state)],
                     halocline::name_of(step.memory), step.bytes, step.text.empty() ? "" : " ",
                     in_one_line(step.text));
}

std::string unavailable_line(Memory memory, std::string_view why) {
  return fmt::format("{}unavailable {} {}", probe_mark, halocline::name_of(memory),
                     in_one_line(why));
}

ProbeReport read_probe(std::string_view output) {
  ProbeReport report;
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t end = output.find('\n', at);
    if (end == std::string_view::npos) break;
    read_line(report, output.substr(at, end - at));
    at = end + 1;
  }
  return report;
}

}  // namespace halocline::proof
