// SPDX-License-Identifier: Apache-2.0
// Command lines, a word in each line, up to where something would run: the case of a solve and the
// figures of a plan are made. scripts/fuzz runs it.

#include "cli/command_line.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/hostile_file.hpp"
#include "plan/prospects.hpp"
#include "solver/case.hpp"

namespace {

using namespace halocline;

std::vector<std::string> words_in(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    // As main() gets them: without zeros.
    words.push_back(text.substr(begin, end - begin).c_str());
    begin = end + 1;
  }
  return words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> words = words_in(std::string(data, data + size));
  // Those that measure for half a second, and files, whose readers have programs of their own.
  for (const std::string& word : words)
    if (word.starts_with("--explain") || word.starts_with("--verbose") ||
        word.find('/') != std::string::npos)
      return 0;
  test::refused_or_read([&] {
    const cli::CommandLine line = cli::read_command_line(words);
    if (line.solve) solver::make_case(line.solve->options, line.solve->ranks.value_or(1));
    if (line.plan) plan::make_plan(line.plan->options, line.plan->ranks);
  });
  return 0;
}
