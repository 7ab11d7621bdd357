// SPDX-License-Identifier: Apache-2.0
#include "probe/end_of_job.hpp"

#include <cstring>
#include <optional>
#include <regex>
#include <sstream>

#include <fmt/format.h>

namespace halocline::proof {
namespace {

/// What launchers say of a rank that a signal ended, where they say it.
struct LastWords {
  std::optional<int> rank, signal;
};

LastWords last_words(const JobEnd& end, LauncherKind kind) {
  std::string text = end.err + end.out;
  for (char& c : text)
    if (c == '\n') c = ' ';  // Open MPI 5 breaks its line in the middle
  LastWords words;
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

}  // namespace

std::string end_in_words(const JobEnd& end, LauncherKind kind,
                         std::chrono::milliseconds time_limit) {
  if (end.how == JobEnd::How::timed_out)
    return fmt::format("timed out after {:g} s", std::chrono::duration<double>(time_limit).count());
  if (end.how == JobEnd::How::fell_silent)
    return fmt::format("no output for {:g} s", std::chrono::duration<double>(time_limit).count());
  const LastWords words = last_words(end, kind);
  const std::string who = words.rank ? fmt::format("rank {}", *words.rank) : "a rank";
  if (words.signal)
    return fmt::format("{} was ended by signal {} ({})", who, *words.signal,
                       strsignal(*words.signal));
  return fmt::format("the ranks ended with exit code {}", end.exit_code);
}

std::string complaint_in(const JobEnd& end, std::string_view mark) {
  constexpr std::size_t longest = 300;
  std::string first;
  std::istringstream lines(end.err + end.out);
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t ours = line.find("halocline: "); ours != std::string::npos)
      return line.substr(ours, longest);
    const bool is_probes = line.find(mark) != std::string::npos;
    if (first.empty() && !is_probes && line.find_first_not_of("-=* \t\r") != std::string::npos)
      first = line.substr(line.find_first_not_of(" \t"), longest);
  }
  return first;
}

}  // namespace halocline::proof
