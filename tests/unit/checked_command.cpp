// SPDX-License-Identifier: Apache-2.0
#include "unit/checked_command.hpp"

#include <algorithm>

#include "cli/benchmark.hpp"
#include "cli/command_line.hpp"
#include "cli/flags.hpp"
#include "cli/plan_command.hpp"
#include "cli/print.hpp"
#include "cli/solve_command.hpp"
#include "files/result_files.hpp"

namespace halocline::test {
namespace {

void check_job(const cli::RankJob& job) {
  check(job);
  check(job.files);
}

}  // namespace

std::vector<std::string> parts_of(std::string_view text, char between) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(between, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::vector<std::string> words_in(std::string_view line, const std::string& folder) {
  std::vector<std::string> words;
  if (!line.empty()) words = parts_of(line, ' ');
  for (std::string& word : words) {
    if (word == "''") word.clear();
    if (const std::size_t place = word.find('~'); place != word.npos && !folder.empty())
      word.replace(place, 1, folder);
  }
  return words;
}

Caught refusal_of(const std::vector<std::string>& words) {
  Caught error = caught([&] {
    const cli::CommandLine line = cli::read_command_line(words);
    if (line.solve) check_job(cli::solve_job(*line.solve));
    if (line.bench) check_job(line.bench->job);
    if (line.plan) cli::plan_of(*line.plan);
  });
  error.text = cli::printable(cli::with_flags(error.text));
  return error;
}

std::string printed_by(const std::vector<std::string>& words) {
  return cli::read_command_line(words).text;
}

}  // namespace halocline::test
