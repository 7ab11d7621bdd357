// SPDX-License-Identifier: Apache-2.0
// What help says: of each command as it is kept in tests/cli/golden, and of each problem.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/solver.hpp>

#include "grid/text.hpp"
#include "problem/catalogue.hpp"
#include "solver/case.hpp"
#include "unit/checked_command.hpp"

namespace halocline::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

constexpr const char* commands_with_options[] = {
    "solve", "plan", "doctor", "bench halo", "bench step", "bench p2p", "bench layout"};

std::string help_of(const std::string& command) {
  return printed_by(words_in(command + " --help"));
}

std::vector<std::string> words_of_text(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

/// Without the vector levels of this machine.
std::string anywhere(std::string text) {
  const std::size_t option = text.find("  --simd ");
  if (option == text.npos) return text;
  const std::size_t colon = text.find(": ", option) + 2;
  return text.replace(colon, text.find('\n', colon) - colon, "THOSE OF THE MACHINE");
}

TEST(Help, IsAsItIsKept) {
  const bool renews = std::getenv("HALOCLINE_RENEW_GOLDEN") != nullptr;  // keeps what help says now
  for (const std::string command : commands_with_options) {
    std::string name = command + "_help.txt";
    std::replace(name.begin(), name.end(), ' ', '_');
    const std::string path = std::string(GOLDEN) + "/" + name, text = anywhere(help_of(command));
    if (renews) std::ofstream(path) << text;
    std::ifstream kept(path);
    EXPECT_EQ(words_of_text(text), words_of_text({std::istreambuf_iterator<char>(kept), {}}))
        << name;
  }
}

TEST(Help, IsGivenInAllWays) {
  const std::string text = help_of("");
  EXPECT_THAT(text, AllOf(HasSubstr("solve"), HasSubstr("doctor"), HasSubstr("Exit codes")));
  EXPECT_EQ(printed_by({}), text);
  EXPECT_EQ(printed_by({"-h"}), text);
}

TEST(Help, ListsAllBenchmarks) {
  const std::string text = help_of("bench");
  for (const std::string command : commands_with_options)
    if (command.starts_with("bench ")) {
      EXPECT_THAT(text, HasSubstr("\n  " + command.substr(6) + "  "));
    }
}

TEST(Help, HasTheVersion) {
  EXPECT_THAT(printed_by({"--version"}),
              MatchesRegex("halocline [0-9]+\\.[0-9]+\\.[0-9]+ \\(commit [a-z0-9-]+, .+, for (Open "
                           "MPI|MPICH)\\)\n"));
}

std::set<std::string> options_in(const std::string& text) {
  std::set<std::string> options;
  for (std::size_t at = 0; (at = text.find(" --", at)) != text.npos; ++at)
    options.insert(text.substr(
        at + 1, text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at + 1) - at - 1));
  return options;
}

/// The word behind `before`.
std::string word_behind(const std::string& text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == text.npos) return "";
  const std::size_t begin = at + before.size();
  return text.substr(begin, text.find_first_of(" ,\n", begin) - begin);
}

TEST(Help, TellsOfEachProblemWhatItsRunHas) {
  const std::string general = help_of("solve");
  std::set<std::string> of_all = options_in(general);
  of_all.erase("--help");  // also named by the list of problems
  EXPECT_GE(of_all.size(), 40u);
  for (const problem::BuiltIn& one : problem::built_in_problems()) {
    const std::string name(one.name);
    SCOPED_TRACE(name);
    EXPECT_THAT(general, HasSubstr("\n  " + name + " "));
    const std::string text = help_of("solve " + name);
    EXPECT_THAT(options_in(text), IsSupersetOf(of_all));
    const std::size_t at = text.find("\n" + name + ": ");
    ASSERT_LT(at, text.find("--cells")) << "what differs comes first";
    const std::string own = text.substr(at, text.find("What to solve", at) - at);

    SolveOptions options;
    options.problem = name;
    const solver::Case the_case = solver::make_case(options, 1);
    EXPECT_EQ(word_behind(own, "by default "), grid::text_of(the_case.grid.cells));
    EXPECT_EQ(word_behind(own, "cells in "), name_of(the_case.precision()));
    EXPECT_THAT(own, HasSubstr(", " + std::to_string(the_case.sweeps) + " sweeps"));
    for (const problem::ModelParameter& parameter : the_case.model->parameters) {
      const std::size_t line = own.find("\n    " + parameter.name + " ");
      ASSERT_NE(line, own.npos) << parameter.name;
      const std::string value = words_of_text(own.substr(line))[1];
      const Caught error = refusal_of({"solve", name, "--set", parameter.name + "=" + value});
      EXPECT_FALSE(error.kind) << error.text;
    }
  }
}

TEST(ProblemCommand, ListsAndShowsEachProblem) {
  const std::string list = printed_by({"problem", "list"});
  EXPECT_THAT(list, StartsWith("  laplace "));
  for (const problem::BuiltIn& one : problem::built_in_problems()) {
    const std::string name(one.name);
    EXPECT_THAT("\n" + list, HasSubstr("\n  " + name + " "));
    EXPECT_THAT(printed_by({"problem", "show", name}), HasSubstr("[update"));
  }
}

TEST(ProblemCommand, WritesFormulasOut) {
  const auto check = [](const char* line) { return printed_by(words_in(line)); };
  EXPECT_THAT(
      check("problem check gray_scott --cells 8x9 --set F=0.5"),
      AllOf(HasSubstr("8x9 in f32"), HasSubstr("u[-1,0] + u[1,0]"), HasSubstr("0.5*(1 - u)"),
            ContainsRegex("per cell +[0-9]+ operations, 16 bytes"),
            HasSubstr("u: x periodic, y periodic"), HasSubstr("NVRTC")));
  EXPECT_THAT(check("problem check shallow_water --cells 100x50"),
              HasSubstr("  domain        x 0 to 1000 by 10, y 0 to 1000 by 20\n"));
  EXPECT_THAT(check("problem check star7"),
              AllOf(HasSubstr("CPUs and GPUs"), Not(HasSubstr("time here"))));
}

TEST(ProblemCommand, ExplainsTheHaloOfARun) {
  EXPECT_THAT(printed_by(words_in("solve acoustic --cells 64x64 --halo-depth 3 --explain")),
              AllOf(HasSubstr("  halo          x 12, y 12, exchanged every 3 sweeps\n"),
                    HasSubstr("  time here ")));
}

}  // namespace
}  // namespace halocline::test
