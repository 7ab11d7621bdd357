// SPDX-License-Identifier: Apache-2.0
// Formulas as text: what is written out means the same when it is read again.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "problem/meaning.hpp"
#include "problem/syntax.hpp"
#include "problem/written.hpp"

namespace halocline::test {
namespace {

using problem::Model;

Model with_update(const std::string& update) {
  return problem::model_of(
      problem::read_text("p.toml",
                         "axes = 2\ncells = [8, 8]\n[parameters]\ndt = 0.5\n[fields.u]\n"
                         "initial = 0\nboundary = \"periodic\"\n[coefficients.D]\n"
                         "value = 2\n[update]\nu = \"" +
                             update + "\"\n[stop]\nsweeps = 1\n"),
      {});
}

TEST(WrittenOut, HasTheParenthesesThatItNeeds) {
  const auto line = [](const std::string& update) {
    return problem::written_out(with_update(update)).back();
  };
  EXPECT_EQ(line("u - (D - x)"), "u = u - (D - x)");
  EXPECT_EQ(line("(u - D) - x"), "u = u - D - x");
  EXPECT_EQ(line("u/(D*x)"), "u = u/(D*x)");
  EXPECT_EQ(line("-(u + D)"), "u = -(u + D)");
  EXPECT_EQ(line("u*-2"), "u = u*-2");
  EXPECT_EQ(line("u[-1,0] + u[0,2]*t"), "u = u[-1,0] + u[0,2]*t");
  EXPECT_EQ(line("select(not (u < D and x > 1), u, D)"), "u = select(not (u < D and x > 1), u, D)");
  EXPECT_EQ(line("laplace(u)"), "u = p1 + 1*(u[-1,0] + u[1,0]) + (p1 + 1*(u[0,-1] + u[0,1]))");
}

TEST(WrittenOut, NamesWhatSeveralPartsNeed) {
  EXPECT_THAT(problem::written_out(with_update("(u + D)*(u + D) - sin(u + D)")),
              testing::ElementsAre("p1 = u + D", "u = p1*p1 - sin(p1)"));
}

// The text of the lines, read as [locals] and an update, has the same tree.
TEST(WrittenOut, ReadsAsWhatItWas) {
  for (const std::string update :
       {"u - (D - x)*(D - x)/3 - -u^3", "laplace(u^3 - u - laplace(u))",
        "max(u, min(D, 0.1)) + abs(u[1,0]) - fma(u, D, t)", "u + dt*(D*laplace(u) - u*u^2)"}) {
    Model model = with_update(update);
    const std::vector<std::string> lines = problem::written_out(model);
    problem::Names names{.axes = 2, .fields = {"u"}, .coefficients = {"D"}};
    names.numbers = {{"dx", 1.0}, {"dy", 1.0}, {"dt", 0.5}};
    for (const std::string& line : lines) {
      const std::size_t sign = line.find(" = ");
      names.locals.emplace("again_" + line.substr(0, sign), problem::parse(line.substr(sign + 3)));
      if (line[0] == 'p')
        names.locals.emplace(line.substr(0, sign), problem::parse(line.substr(sign + 3)));
    }
    EXPECT_EQ(
        problem::meaning_of(model.tree, problem::parse("again_u"), names, problem::Use::update),
        model.fields[0].update)
        << update;
  }
}

TEST(WrittenOut, CountsWhatACellTakes) {
  const problem::Effort effort = problem::effort_of(with_update("u + dt*D*(u[1,0] + u[-1,0])"));
  EXPECT_EQ(effort.operations, 4);  // dt*D is one, and it is no number
  EXPECT_EQ(effort.bytes, 3 * 8);
}

}  // namespace
}  // namespace halocline::test
