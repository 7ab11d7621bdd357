// SPDX-License-Identifier: Apache-2.0
// The table of options: every row by its word, in JSON and on its page.

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/solver.hpp>

#include "solver/options.hpp"
#include "support/caught.hpp"

namespace halocline::test {
namespace {

using namespace solver;

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// A word for each option, and what it becomes in JSON.
const std::map<std::string_view, std::pair<std::string, std::string>> words{
    {"cells", {"8x1e1", "\"8x10\""}},
    {"cells_per_rank", {"7x5x3", "\"7x5x3\""}},
    {"sweeps", {"1e3", "1000"}},
    {"tolerance", {"1e-6", "1e-06"}},
    {"norm", {"l2", "\"l2\""}},
    {"norm_every", {"1", "1"}},
    {"precision", {"f32", "\"f32\""}},
    {"parameters", {"dt=0.1", "[[\"dt\",0.1]]"}},
    {"seed", {"18446744073709551615", "18446744073709551615"}},
    {"initial", {"v=a=b.npy", "[[\"v\",\"a=b.npy\"]]"}},
    {"process_grid", {"2x3", "\"2x3\""}},
    {"threads", {"3", "3"}},
    {"backend", {"cpu", "\"cpu\""}},
    {"memory", {"pinned", "\"pinned\""}},
    {"layout", {"brick:8x8", "\"brick:8x8\""}},
    {"simd", {"scalar", "\"scalar\""}},
    {"formulas", {"compiled", "\"compiled\""}},
    {"transport", {"peer", "\"peer\""}},
    {"schedule", {"overlap", "\"overlap\""}},
    {"graph", {"off", "\"off\""}},
    {"writing", {"between", "\"between\""}},
    {"tuning_file", {"t.json", "\"t.json\""}},
    {"tuning_seconds", {"0", "0.0"}},
    {"halo_depth", {"4", "4"}},
    {"sweeps_per_pass", {"8", "8"}},
    {"proofs", {"p.json", "\"p.json\""}},
    {"checkpoint", {"saved", "\"saved\""}},
    {"checkpoint_every", {"1.5min", "[\"90s\"]"}},
    {"restart", {"saved", "\"saved\""}},
    {"verify", {"yes", "true"}},
    {"verify_every", {"10", "10"}},
    {"baseline", {"yes", "true"}},
    {"output", {"u.npy", "[[\"\",\"u.npy\"]]"}},
    {"output_every", {"10", "10"}},
    {"ranges", {"u=-1,2", "[[\"u\",-1.0,2.0]]"}},
    {"sums", {"u", "[\"u\"]"}},
    {"probes", {"u@3,4", "[{\"field\":\"u\",\"cell\":[3,4]}]"}},
    {"series", {"s.csv", "\"s.csv\""}},
    {"series_every", {"5", "5"}},
    {"trace", {"t.json", "\"t.json\""}}};

TEST(SolveOptionTable, SetsEveryOptionByAWord) {
  std::set<std::string_view> seen;
  for (const Option& option : options()) {
    SCOPED_TRACE(option.name);
    EXPECT_TRUE(seen.insert(option.name).second);
    const auto& [word, json] = words.at(option.name);
    SolveOptions set;
    EXPECT_FALSE(option.is_given(set));
    set_option(set, std::string(option.name), word);
    EXPECT_TRUE(option.is_given(set));
    EXPECT_EQ(option.value.json(set).dump(), json);
    // And no other one.
    for (const Option& other : options())
      EXPECT_EQ(other.is_given(set), other.name == option.name) << other.name;
    const std::string& same = word;
    const auto again = [&] { set_option(set, std::string(option.name), same); };
    // A file without a field is for the first one; a parameter has one value.
    if (option.times == Option::Times::once || option.name == "parameters")
      EXPECT_EQ(caught(again).kind, ErrorKind::usage);
    else
      EXPECT_NO_THROW(again());
  }
  EXPECT_EQ(seen.size(), words.size());
}

TEST(SolveOptionTable, TakesFromACheckpointWhatItGave) {
  SolveOptions set, taken;
  for (const Option& option : options())
    set_option(set, std::string(option.name), words.at(option.name).first);
  set_option(set, "probes", "7,8");
  set.checkpoint_every = 5;  // together with seconds
  for (const Option& option : options())
    if (option.value.take != nullptr) {
      option.value.take(taken, parse_json(option.value.json(set).dump()));
      EXPECT_EQ(option.value.json(taken), option.value.json(set)) << option.name;
    } else {
      EXPECT_TRUE(option.restart == Option::Restart::free ||
                  option.restart == Option::Restart::refuse);
    }
}

TEST(SolveOptionTable, NamesWhatIsWrong) {
  const auto text_of = [](const std::string& name, const std::string& word) {
    SolveOptions set;
    const Caught error = caught([&] { set_option(set, name, word); });
    EXPECT_EQ(error.kind, ErrorKind::usage) << name << " " << word;
    return error.text;
  };
  EXPECT_THAT(text_of("sweps", "3"), HasSubstr("do you mean 'sweeps'?"));
  EXPECT_THAT(text_of("sweeps", "three"), HasSubstr("option 'sweeps' 'three'"));
  EXPECT_THAT(text_of("verify", "maybe"), HasSubstr("yes or no"));
  EXPECT_THAT(text_of("memory", "attic"), HasSubstr("'attic'"));
  EXPECT_THAT(text_of("checkpoint_every", "10ms"), HasSubstr("no time"));
  EXPECT_THAT(text_of("probes", "@3"), HasSubstr("option 'probes'"));
  for (const char* word : {"0", "automatic"})
    EXPECT_THAT(text_of("sweeps_per_pass", word), HasSubstr("use 1 or more, or auto"));
}

TEST(SolveOptionTable, SaysWhatRanksSetAlike) {
  SolveOptions set;
  for (const Option& option : options())
    set_option(set, std::string(option.name), words.at(option.name).first);
  const std::vector<std::string> lines = shared_options(set);
  EXPECT_THAT(lines, AllOf(Contains("cells 8x10"), Contains("probes u,3,4"),
                           Contains("trace given"), Contains("parameters dt,0.1")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("threads"))));
  // Paths may be of any bytes.
  SolveOptions odd;
  set_option(odd, "output", "\xfe.npy");
  EXPECT_THAT(shared_options(odd), Contains("output \xfe.npy"));
}

/// The page of docs that lists the options.
std::string page() {
  std::string text =
      "# Options of a solve\n\n"
      "The same table serves the command (`halocline solve`), C++ (`SolveOptions`, `set_option`), "
      "C\n"
      "(`halocline_option`) and Fortran (`halocline_option`). Names are those of programs, flags "
      "those of the\n"
      "command. A test writes this page from src/solve/solver/options.cpp "
      "(HALOCLINE_RENEW_GOLDEN=1).\n";
  const std::vector<std::pair<Option::Group, const char*>> groups{
      {Option::Group::what, "What to solve"},
      {Option::Group::how, "How"},
      {Option::Group::checkpoints, "Checkpoints"},
      {Option::Group::results, "Results"}};
  for (const auto& [group, title] : groups) {
    text += fmt::format(
        "\n## {}\n\n| name | flag | ranks | at a restart | |\n|---|---|---|---|---|\n", title);
    for (const Option& option : options()) {
      if (option.group != group) continue;
      std::string help =
          option.name == "simd" ? "widest vectors to use [default: auto]" : option.help;
      for (std::size_t at = 0; (at = help.find_first_of("\n|", at)) != help.npos;)
        help.replace(at, 1, help[at] == '|' ? "\\|" : " "), at += 2;
      std::string word(option.word);
      if (const std::size_t bar = word.find('|'); bar != word.npos) word.insert(bar, "\\");
      const char* const ranks = option.ranks == Option::Ranks::differ        ? "may differ"
                                : option.ranks == Option::Ranks::alike_given ? "given alike"
                                                                             : "alike";
      const char* const restart = option.restart == Option::Restart::same ? "as before"
                                  : option.restart == Option::Restart::inherit
                                      ? "as before, or given"
                                  : option.restart == Option::Restart::refuse ? "refused"
                                                                              : "free";
      text += fmt::format("| `{}` | `{}{}{}` | {} | {} | {} |\n", option.name, option.flag,
                          word.empty() ? "" : " ", word, ranks, restart, help);
    }
  }
  return text;
}

TEST(SolveOptionTable, IsInTheDocumentation) {
  if (std::getenv("HALOCLINE_RENEW_GOLDEN") != nullptr) std::ofstream(OPTIONS_PAGE) << page();
  std::stringstream kept;
  kept << std::ifstream(OPTIONS_PAGE).rdbuf();
  EXPECT_EQ(kept.str(), page()) << "HALOCLINE_RENEW_GOLDEN=1 writes " << OPTIONS_PAGE;
}

}  // namespace
}  // namespace halocline::test
