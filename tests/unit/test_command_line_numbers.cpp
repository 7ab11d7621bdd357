// SPDX-License-Identifier: Apache-2.0
// Every number on the command line, of every command, is of the one grammar that
// docs/solving.md describes: what is right passes all checks before ranks are started, what is
// wrong is refused with the option and the word.

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/checked_command.hpp"

namespace halocline::test {
namespace {

using Words = std::vector<std::string>;

// Words with a bar between them: no whole number, of whatever size, and no number.
constexpr std::string_view not_whole =
    "|abc|0x10|1.5|1e-1|1e|10k|1KiB|Ki| 5|5 |+5|1_000|5.|nan|inf|1;2|2e1e1|٣";
constexpr std::string_view not_finite =
    "|abc|nan|NaN|inf|-inf|infinity|1e400|-1e999|1e-400|0x1p3|1,5|5s| 5|5 |+5|1Ki|e3|--1";
constexpr std::string_view beyond_32 = "2147483648|4294967297|3Gi|1e10|-2147483649";
constexpr std::string_view beyond_64 =
    "9223372036854775808|99999999999999999999|18446744073709551617|9007199254740993Ki|1e400|"
    "1e99999999999999999999|-9223372036854775809";
constexpr std::string_view beyond_64_without_sign = "18446744073709551616|1e20|-1";
constexpr std::string_view not_a_size =
    "|x|8x|x8|8xx8|8y8|8x8x8x8|1.5x8|-8x8|0x1p3x8|8 x8|8x1e400|9223372036854775808x1";

/// What an option takes.
enum class Takes {
  int32,
  int64,
  uint64,
  number,
  setting,
  size,
  list_of_int32,
  list_of_int64,
  list_of_sizes,
  pairs,
  cell,
  range
};

struct OptionOfNumbers {
  std::string_view command, option;
  Takes takes;
  std::string_view good;  // words with a bar between them
};

constexpr std::string_view on_cpu = "solve laplace --backend cpu";
constexpr std::string_view of_squares = "bench halo --cells-per-rank 64x64";

constexpr OptionOfNumbers options_of_numbers[] = {
    {on_cpu, "--cells", Takes::size, "64x32|064x0032|1e2x1.5e1|1Kix1Ki|64X32x8"},
    {on_cpu, "--cells-per-rank", Takes::size, "64x32|0100x10"},
    {on_cpu, "--sweeps", Takes::int64, "0|010|1e3|1.5e3|2Ki|9223372036854775807"},
    {on_cpu, "--tolerance", Takes::number, "0|1e-3|.5|05|1e308"},
    {on_cpu, "--norm-every", Takes::int64, "1|010|1e2|9223372036854775807"},
    {"solve laplace --output u.npy", "--output-every", Takes::int64, "1|010|1e2"},
    {"solve laplace --sum u", "--series-every", Takes::int64, "1|010|1e2"},
    {on_cpu, "--verify-every", Takes::int64, "1|010|1e2|9223372036854775807"},
    {"solve laplace --checkpoint saved", "--checkpoint-every", Takes::int64,
     "1|010|1e2|90s|1.5min|2h"},
    {"solve laplace --output u.png", "--range", Takes::range, "0,1|u=-1,1e3"},
    {on_cpu, "--probe", Takes::cell, "1,02|u@0,1e2"},
    {"solve heat", "--set", Takes::setting, "dt=1e-3|alpha=02.5|dt=.0001"},
    {on_cpu, "--seed", Takes::uint64, "0|010|1e3|18446744073709551615"},
    {on_cpu, "--ranks", Takes::int32, "2|02|2e0"},
    {on_cpu, "--process-grid", Takes::size, "1x2|01x2|2e0x1"},
    {on_cpu, "--threads", Takes::int32, "1|04|4Ki"},
    {on_cpu, "--tune-budget", Takes::number, "0|0.5|1e3"},
    {on_cpu, "--halo-depth", Takes::int64, "1|02|2e0"},
    {on_cpu, "--sweeps-per-pass", Takes::int64, "1|02|16"},
    {on_cpu, "--wait-limit", Takes::number, "0|0.5|1e300"},
    {"problem check laplace", "--cells", Takes::size, "64x32|064x1e2"},
    {"problem check heat", "--set", Takes::setting, "dt=1e-3|alpha=02.5"},
    {"plan laplace", "--cells", Takes::size, "64x32|064x1e2"},
    {"plan laplace", "--cells-per-rank", Takes::size, "64x32|1Kix1Ki"},
    {"plan laplace", "--ranks", Takes::int32, "1|010|1e1"},
    {"plan laplace --ranks 2", "--process-grid", Takes::size, "1x2|02x1"},
    {"plan laplace --ranks 2", "--halo-depth", Takes::int64, "1|010|1e2"},
    {"plan laplace --ranks 2", "--sweeps-per-pass", Takes::int64, "1|01|1e0"},
    {"doctor", "--ranks", Takes::int32, "2|010"},
    {"doctor", "--time-limit", Takes::number, "1|1.5|03e1"},
    {"bench halo", "--cells-per-rank", Takes::list_of_sizes, "64x64|1Kix64,064x64x8"},
    {of_squares, "--width", Takes::list_of_int64, "1|02,4|1e1"},
    {of_squares, "--fields", Takes::list_of_int64, "1|02,4|1e1"},
    {of_squares, "--ranks", Takes::int32, "2|02|2e0"},
    {of_squares, "--process-grid", Takes::size, "1x2|02x1"},
    {"bench halo", "--repetitions", Takes::int64, "1|010|1e3|1Ki"},
    {"bench halo", "--seconds", Takes::number, "0.5|1e-3|010"},
    {"bench halo", "--wait-limit", Takes::number, "0|0.5|1e300"},
    {"bench step", "--cells", Takes::list_of_sizes, "64x64|1Kix64,064x64"},
    {"bench step", "--cells-per-rank", Takes::list_of_sizes, "64x64|1Kix64,064x64"},
    {"bench step", "--norm-every", Takes::list_of_int64, "1|010,1e2"},
    {"bench step", "--halo-depth", Takes::list_of_int64, "1|02,4|1e1"},
    {"bench step", "--sweeps", Takes::int64, "2|010|1Ki"},
    {"bench step", "--repetitions", Takes::int64, "1|010|1Ki"},
    {"bench step", "--ranks", Takes::list_of_int32, "2|1,02|1,2e0"},
    {"bench step", "--process-grid", Takes::list_of_sizes, "1x2|auto,02x1"},
    {"bench step", "--threads", Takes::int32, "1|04"},
    {"bench step", "--wait-limit", Takes::number, "0|0.5|1e300"},
    {"bench p2p", "--pairs", Takes::pairs, "0-1|00-1,1-0"},
    {"bench p2p", "--sizes", Takes::list_of_int64, "8|010,64Ki,1e3"},
    {"bench p2p", "--window", Takes::int64, "1|010|1e3"},
    {"bench p2p", "--ranks", Takes::int32, "2|04"},
    {"bench p2p", "--repetitions", Takes::int64, "1|010|1e3|1Ki"},
    {"bench p2p", "--seconds", Takes::number, "0.5|1e-3|010"},
    {"bench p2p", "--wait-limit", Takes::number, "0|0.5|1e300"},
    {"bench layout", "--cells-per-rank", Takes::size, "16x16x16|016x1e1x32"},
    {"bench layout", "--process-grid", Takes::size, "1x1x2|02x1x1"},
    {"bench layout", "--steps", Takes::list_of_int64, "1|02,8|1,2e0"},
    {"bench layout", "--sweeps", Takes::int64, "8|016|1Ki"},
    {"bench layout", "--repetitions", Takes::int64, "1|010|1Ki"},
    {"bench layout", "--ranks", Takes::int32, "2|04"},
    {"bench layout", "--threads", Takes::int32, "1|04"},
    {"bench layout", "--wait-limit", Takes::number, "0|0.5|1e300"},
};

Words all_of(std::string_view some, std::string_view more) {
  Words words = parts_of(some, '|');
  for (std::string& word : parts_of(more, '|')) words.push_back(std::move(word));
  return words;
}

/// The words themselves, the same in a list, and what is no list.
Words in_lists(Words words) {
  const std::size_t count = words.size();
  for (std::size_t i = 0; i < count; ++i) words.push_back("8," + words[i]);
  for (const char* word : {",8", "8,", "8,,16"}) words.emplace_back(word);
  return words;
}

Words wrong_words(Takes takes) {
  switch (takes) {
    case Takes::int32: {
      Words words = all_of(not_whole, beyond_32);
      for (std::string& word : parts_of(beyond_64, '|')) words.push_back(std::move(word));
      return words;
    }
    case Takes::int64:
      return all_of(not_whole, beyond_64);
    case Takes::uint64:
      return all_of(not_whole, beyond_64_without_sign);
    case Takes::number:
      return parts_of(not_finite, '|');
    case Takes::setting: {
      Words words = parts_of("|dt|=1", '|');
      for (const std::string& word : parts_of(not_finite, '|')) words.push_back("dt=" + word);
      return words;
    }
    case Takes::size:
      return parts_of(not_a_size, '|');
    case Takes::list_of_int32:
      return in_lists(wrong_words(Takes::int32));
    case Takes::list_of_int64:
      return in_lists(wrong_words(Takes::int64));
    case Takes::list_of_sizes:
      return all_of(not_a_size, "8x8,|8x8,8y8");
    case Takes::pairs:
      return parts_of("|0|0-|-1|0-1-2|0-1,|0--1|0-0x1|0-1.5|0-2147483648|a-b", '|');
    case Takes::cell:
      return parts_of("|x|1,x|1.5,1|1,|9223372036854775808,1|1, 2", '|');
    case Takes::range:
      return parts_of("|1|1,2,3|a,b|0,inf|0,0x1|0, 1", '|');
  }
  return {};
}

Words line_with(const OptionOfNumbers& row, const std::string& word) {
  Words words = words_in(row.command);
  if (word.starts_with("--")) {
    words.push_back(std::string(row.option) + "=" + word);
  } else {
    words.emplace_back(row.option);
    words.push_back(word);
  }
  const bool takes_ranks = row.command.starts_with("solve") || (row.command.starts_with("bench"));
  if (takes_ranks && row.option != "--ranks" && row.command.find("--ranks") == row.command.npos)
    for (const char* more : {"--ranks", "2"}) words.emplace_back(more);
  return words;
}

TEST(CommandLineNumbers, AreReadByEveryOption) {
  for (const OptionOfNumbers& row : options_of_numbers)
    for (const std::string& word : parts_of(row.good, '|')) {
      const Caught error = refusal_of(line_with(row, word));
      EXPECT_FALSE(error.kind) << row.command << " " << row.option << " '" << word
                               << "': " << error.text;
    }
}

TEST(CommandLineNumbers, AreRefusedWithTheirOptionAndWord) {
  for (const OptionOfNumbers& row : options_of_numbers)
    for (const std::string& word : wrong_words(row.takes)) {
      const Caught error = refusal_of(line_with(row, word));
      const auto quotes = [&](const std::string& part) {
        return error.text.find(std::string(row.option) + " '" + part + "'") != error.text.npos;
      };
      const Words parts = parts_of(word, ',');
      const bool tells = quotes(word) || std::any_of(parts.begin(), parts.end(), quotes);
      EXPECT_TRUE(error.kind == ErrorKind::usage && tells &&
                  error.text.find('\n') == error.text.npos)
          << row.command << " " << row.option << " '" << word << "': " << error.text;
    }
}

/// The options of a command that take a word, and what help calls the word.
std::vector<std::pair<std::string, std::string>> options_with_words(const std::string& command) {
  std::vector<std::pair<std::string, std::string>> found;
  Words words = words_in(command);
  words.emplace_back("--help");
  std::istringstream lines(printed_by(words));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  --")) continue;
    const std::size_t space = std::min(line.find(' ', 2), line.size());
    const bool is_flag = line.size() <= space + 1 || line[space + 1] == ' ';
    const std::size_t end = is_flag ? space : std::min(line.find(' ', space + 1), line.size());
    if (!is_flag)
      found.emplace_back(line.substr(2, space - 2), line.substr(space + 1, end - space - 1));
  }
  return found;
}

/// Commands with options, by the lists of commands in help.
Words commands_below(const std::string& command) {
  Words words = words_in(command);
  words.emplace_back("--help");
  const std::string text = printed_by(words);
  const std::size_t list = text.find("ubcommands:\n");
  if (list == text.npos) return {command};
  Words found;
  std::istringstream lines(text.substr(list + 12));
  for (std::string line; std::getline(lines, line) && line.starts_with("  ");) {
    if (line[2] == ' ') continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    for (std::string& each : commands_below(command.empty() ? name : command + " " + name))
      found.push_back(std::move(each));
  }
  return found;
}

TEST(CommandLineNumbers, AreTestedForEveryOptionThatHasThem) {
  const std::set<std::string> numbers{"N",
                                      "K",
                                      "S",
                                      "T",
                                      "N|TIME",
                                      "N|auto",
                                      "NXxNY[xNZ]",
                                      "PXxPY[xPZ]",
                                      "NAME=VALUE",
                                      "[FIELD=]MIN,MAX",
                                      "[FIELD@]X[,Y[,Z]]",
                                      "LIST"};
  const std::set<std::string> words{"P",       "KIND",   "NAME",    "LEVEL",
                                    "WHEN",    "FILE",   "PROBLEM", "FIELD",
                                    "COMMAND", "FOLDER", "AXES",    "[FIELD=]FILE"};
  // Lists of names, and an environment variable.
  const std::set<std::string> names{"--transport", "--memory", "--graph",   "--schedule",
                                    "--precision", "--norm",   "--orders",  "--modes",
                                    "--ab",        "--rivals", "--layouts", "--ways"};
  std::size_t found = 0;
  const Words commands = commands_below("");
  EXPECT_GE(commands.size(), 10u);
  for (const std::string& command : commands)
    for (const auto& [option, type] : options_with_words(command)) {
      EXPECT_TRUE(numbers.contains(type) || words.contains(type))
          << command << " " << option << " " << type;
      if (!numbers.contains(type) || names.contains(option)) continue;
      const std::string& wanted = option;
      const bool is_tested = std::any_of(
          std::begin(options_of_numbers), std::end(options_of_numbers), [&](const auto& row) {
            return row.command.starts_with(command) && row.option == wanted;
          });
      EXPECT_TRUE(is_tested) << command << " " << option << " has no row";
      ++found;
    }
  EXPECT_EQ(found, std::size(options_of_numbers));
}

}  // namespace
}  // namespace halocline::test
