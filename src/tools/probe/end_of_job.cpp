// SPDX-License-Identifier: Apache-2.0
#include "probe/end_of_job.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <regex>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace halocline::probe {
namespace {

/// A rank that a signal ended, as far as the launcher reports it.
struct RankEnd {
  std::optional<int> rank, signal;
};

RankEnd rank_end(const JobEnd& end, LauncherKind kind) {
  std::string text = end.err + end.out;
  for (char& c : text)
    if (c == '\n') c = ' ';  // Open MPI 5 breaks its line in the middle
  RankEnd words;
  std::smatch found;
  // "process rank 1 with PID 0 on node vm exited on signal 11"; "srun: error: node1: task 1:
  // Segm..."
  static const std::regex rank(R"((?:process rank|: task) (\d{1,9})\b)");
  if (std::regex_search(text, found, rank)) words.rank = std::stoi(found[1]);
  if (end.how == JobEnd::How::signalled) words.signal = end.signal;
  if (end.how == JobEnd::How::exited) words.signal = signal_of_rank(kind, end.exit_code);
  // Hydra: "EXIT STRING: Segmentation fault (signal 11)".
  static const std::regex signal(R"((?:exited on |\()signal (\d{1,2})\b)");
  if (!words.signal && std::regex_search(text, found, signal)) words.signal = std::stoi(found[1]);
  return words;
}

/// A message in a job's output: a line, or a text that MPI frames by lines of dashes.
struct OutputMessage {
  std::string text;
  bool is_routine = false;  ///< printed for any job that ends early
};

/// Recognizes routine messages of Open MPI, its runtime, and Hydra.
bool is_routine(const std::string& text) {
  constexpr std::string_view phrases[] = {
      "ORTE_ERROR_LOG", "PMIX ERROR", "It looks like MPI_INIT failed",
      "It looks like orte_init failed", "Primary job terminated normally",
      "detected that one or more processes exited", "MPI_ABORT was invoked",
      "more process has sent help message", "more processes have sent help message",
      "orte_base_help_aggregate", "An error occurred in MPI_Init", "reported by process",
      "on a NULL communicator", "*** Unknown error", "MPI_ERRORS_ARE_FATAL",
      "and potentially your MPI job", "Local abort before MPI_INIT completed",
      "EXIT CODE:", "CLEANING UP REMAINING", "YOU CAN IGNORE THE BELOW", "BAD TERMINATION",
      "RUNNING AT", "EXIT STRING",
      // Our own, after messages of a library.
      "its own output is above", "typically refers to a problem with your application",
      "see the FAQ page"};
  return std::any_of(std::begin(phrases), std::end(phrases), [&](std::string_view phrase) {
    return text.find(phrase) != std::string::npos;
  });
}

/// Joins a text to one line without runs of spaces and dots, and without prefixes such as
/// "[vm:14172] " or "[1795359705.019822] [vm:14277:0] ".
std::string in_one_line(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) {
    const bool is_prefix = line.empty() && word.front() == '[' && word.back() == ']' &&
                           word.find_first_of("0123456789") != std::string::npos;
    if (is_prefix) continue;
    // MPICH's error stacks: "MPID_Init(443)...........: ".
    if (const std::size_t dots = word.find("...."); dots != std::string::npos && dots > 0)
      word.erase(dots).push_back(':');
    line += (line.empty() ? "" : " ") + word;
  }
  return line;
}

bool is_frame(const std::string& line) {
  return line.size() > 20 && line.find_first_not_of("-=\r") == std::string::npos;
}

/// Splits a job's output into messages.
std::vector<OutputMessage> messages_in(const std::string& output, std::string_view mark) {
  std::vector<OutputMessage> all;
  const auto add = [&](const std::string& text) {
    std::string line = in_one_line(text);
    const bool has_text = line.find_first_not_of("-=* ") != std::string::npos;
    if (has_text) all.push_back({line, is_routine(line)});
  };
  std::istringstream lines(output);
  std::optional<std::string> framed;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(mark) != std::string::npos) continue;
    if (is_frame(line)) {
      if (framed) add(*framed);
      framed = framed && !framed->empty() ? std::nullopt : std::optional(std::string());
    } else if (framed) {
      *framed += line + " ";
    } else {
      add(line);
    }
  }
  if (framed) add(*framed);
  return all;
}

/// Cuts long messages of launchers.
std::string shortened(const std::string& text) {
  constexpr std::size_t longest = 1200;
  if (text.size() <= longest) return text;
  return text.substr(0, text.rfind(' ', longest)) + " ...";
}

}  // namespace

std::string end_in_words(const JobEnd& end, LauncherKind kind,
                         std::chrono::milliseconds time_limit) {
  if (end.how == JobEnd::How::timed_out)
    return fmt::format("timed out after {:g} s", std::chrono::duration<double>(time_limit).count());
  if (end.how == JobEnd::How::fell_silent)
    return fmt::format("no output for {:g} s", std::chrono::duration<double>(time_limit).count());
  const RankEnd words = rank_end(end, kind);
  const std::string who = words.rank ? fmt::format("rank {}", *words.rank) : "a rank";
  if (words.signal)
    return fmt::format("{} was ended by signal {} ({})", who, *words.signal,
                       strsignal(*words.signal));
  return fmt::format("the ranks ended with exit code {}", end.exit_code);
}

int signal_in(const JobEnd& end, LauncherKind kind) {
  const bool by_us = end.how == JobEnd::How::timed_out || end.how == JobEnd::How::fell_silent;
  return by_us ? 0 : rank_end(end, kind).signal.value_or(0);
}

std::string complaint_in(const JobEnd& end, std::string_view mark) {
  std::vector<OutputMessage> all = messages_in(end.err, mark);
  for (OutputMessage& words : messages_in(end.out, mark)) all.push_back(std::move(words));
  for (const OutputMessage& words : all)
    if (const std::size_t ours = words.text.find("halocline: ");
        ours != std::string::npos && !words.is_routine)
      return words.text.substr(ours);
  // Routine messages help only if there is no other.
  const bool any_reason = std::any_of(all.begin(), all.end(),
                                      [](const OutputMessage& words) { return !words.is_routine; });
  std::vector<std::string> chosen;
  for (const OutputMessage& words : all)
    if ((!words.is_routine || !any_reason) &&
        std::find(chosen.begin(), chosen.end(), words.text) == chosen.end())
      chosen.push_back(words.text);
  return shortened(fmt::format("{}", fmt::join(chosen, "; ")));
}

}  // namespace halocline::probe
