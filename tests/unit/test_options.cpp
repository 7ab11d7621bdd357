// SPDX-License-Identifier: Apache-2.0
// From the words of a command line to variables.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/options.hpp"
#include "cli/parse.hpp"
#include "cli/ranks.hpp"
#include "support/caught.hpp"

namespace halocline::cli {
namespace {

using test::Caught;
using test::caught;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

/// A command with one option of each kind, and a subcommand.
struct Line {
  std::string problem;
  std::optional<std::string> file;
  std::optional<std::int64_t> sweeps;
  std::optional<double> tolerance;
  int ranks = 1;
  std::vector<std::string> settings, list;
  std::vector<std::int64_t> bytes{7, 8};
  bool verify = false;

  std::optional<std::string> read(const std::vector<std::string>& words) {
    Syntax syntax("halo", "a command");
    syntax.offer_help();
    Syntax& solve = syntax.subcommand("solve", "solves");
    syntax.subcommand("doctor", "examines");
    solve.word("problem", "PROBLEM", problem, "a name");
    const OptionGroup all = solve.group("All");
    all.option("--json", "FILE", file).dash = Option::Dash::standard_output;
    all.option("--sweeps", "N", sweeps);
    all.option("--tolerance", "T", tolerance);
    all.option("--ranks", "N", ranks);
    all.option("--set", "NAME=VALUE", settings);
    all.option("--list", "LIST", list).lists = Option::Lists::commas;
    Option& sizes = all.option("--bytes", "LIST", bytes);
    sizes.lists = Option::Lists::commas;
    sizes.range = Option::Range::positive;
    all.flag("--verify", verify);
    return syntax.parse(words);
  }
};

std::string refusal(std::vector<std::string> words) {
  words.insert(words.begin(), "solve");
  const Caught error = caught([&] { Line().read(words); });
  EXPECT_EQ(error.kind, ErrorKind::usage) << error.text;
  EXPECT_THAT(error.text, HasSubstr("halo solve --help"));
  return error.text;
}

TEST(Options, SetVariables) {
  Line line;
  line.read({"solve", "--sweeps", "1e3", "heat", "--json", "-", "--verify", "--set", "a=1",
             "--set=b=-2", "--tolerance=-1e-3", "--ranks", "-3", "--list", "x,y", "--bytes",
             "8,64Ki"});
  EXPECT_EQ(line.problem, "heat");
  EXPECT_THAT(line.file, Optional(std::string("-")));
  EXPECT_THAT(line.sweeps, Optional(1000));
  EXPECT_THAT(line.tolerance, Optional(-1e-3));
  EXPECT_EQ(line.ranks, -3);
  EXPECT_THAT(line.settings, ElementsAre("a=1", "b=-2"));
  EXPECT_THAT(line.list, ElementsAre("x", "y"));
  EXPECT_THAT(line.bytes, ElementsAre(8, 65536));
  EXPECT_TRUE(line.verify);
}

TEST(Options, TakeNoOtherOptionForTheirValue) {
  Line line;
  line.read({"solve", "heat", "--json=--verify"});
  EXPECT_THAT(line.file, Optional(std::string("--verify")));
  EXPECT_FALSE(line.verify);
}

TEST(Options, AreNotEmpty) {
  for (const char* name : {"--json", "--sweeps", "--tolerance", "--ranks", "--set", "--list"}) {
    EXPECT_THAT(refusal({"heat", name, ""}), AllOf(HasSubstr(name), HasSubstr("empty")));
    EXPECT_THAT(refusal({"heat", std::string(name) + "="}), HasSubstr("empty"));
  }
  EXPECT_THAT(refusal({""}), HasSubstr("empty"));
}

TEST(Options, NameUnknownWordsInTheirOrder) {
  const std::string text = refusal({"heat", "--rank", "3", "more", "--nothing", "--verfy"});
  EXPECT_THAT(text, AllOf(HasSubstr("--ranks?"), HasSubstr("--verify?"), Not(HasSubstr("'3'"))));
  EXPECT_LT(text.find("'--rank'"), text.find("'more'"));
  EXPECT_LT(text.find("'more'"), text.find("'--nothing'"));
  EXPECT_LT(text.find("'--nothing'"), text.find("'--verfy'"));
}

TEST(Options, NameACommandThatMayBeMeant) {
  EXPECT_THAT(caught([] {
                Line().read({"slove", "heat", "--sweeps", "2"});
              }),
              test::says(ErrorKind::usage, "'slove'", "solve?", Not(HasSubstr("heat"))));
}

TEST(Options, GiveHelpWhateverElseIsWrong) {
  EXPECT_THAT(Line().read({"solve", "--sweeps", "x", "--nothing", "--help"}),
              Optional(AllOf(HasSubstr("halo solve"), HasSubstr("--sweeps N"))));
  EXPECT_THAT(Line().read({"slove", "--help"}), Optional(HasSubstr("doctor")));
}

TEST(WordsForRanks, HasNoneThatIsTheLaunchers) {
  EXPECT_THAT(words_for_ranks({"solve", "heat", "--ranks", "2", "--tune", "file", "--trace", ":",
                               "--ranks=3", "--sum", "u"}),
              ElementsAre("solve", "heat", "--tune=file", "--trace=:", "--sum", "u"));
  EXPECT_THAT(words_for_ranks({"solve", "--tune"}), ElementsAre("solve", "--tune"));
}

TEST(Parse, ReadsListsWithTheSameNumbers) {
  EXPECT_EQ(parse_extents("1Kix1e2x010", "--cells"), Extents({1024, 100, 10}));
  EXPECT_THAT(parse_numbers("1,1e3,-2", "--n"), ElementsAre(1, 1000, -2));
  EXPECT_THAT(parse_pairs("0-1,00-3", "--p"), ElementsAre(std::pair(0, 1), std::pair(0, 3)));
}

TEST(Words, NameCellsAndRangesOfFields) {
  const SolveOptions::Probe probe = parse_probe("u_2@10,0,1e2", "--probe");
  EXPECT_EQ(probe.field, "u_2");
  EXPECT_THAT(probe.cell, ElementsAre(10, 0, 100));
  EXPECT_EQ(parse_probe("7", "--probe").field, "");
  for (const std::string word : {"@1", "u@", "u@1,", "u", "u@1.5", "u@1@2", ","})
    EXPECT_EQ(caught([&] { parse_probe(word, "--probe"); }).kind, ErrorKind::usage) << word;
  const SolveOptions::Range range = parse_range("v=-1,2e-3", "--range");
  EXPECT_EQ(range.field, "v");
  EXPECT_EQ(range.min, -1);
  EXPECT_EQ(range.max, 2e-3);
  EXPECT_EQ(parse_range("0,1", "--range").field, "");
  for (const std::string word : {"v=", "u v=0,1"})
    EXPECT_EQ(caught([&] { parse_range(word, "--range"); }).kind, ErrorKind::usage) << word;
}

TEST(Parse, ReadsParametersAndValues) {
  EXPECT_THAT(parse_assignments({"a=1", "b=-2e3"}, "--set"),
              ElementsAre(std::pair("a", 1.0), std::pair("b", -2000.0)));
}

}  // namespace
}  // namespace halocline::cli
