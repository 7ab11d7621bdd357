// SPDX-License-Identifier: Apache-2.0
// Updates written in C++: the same code computes with numbers here, and records formulas there.

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/formula.hpp>
#include <halocline/problem.hpp>

#include "problem/catalogue.hpp"
#include "problem/model.hpp"
#include "problem/written.hpp"
#include "support/caught.hpp"
#include "support/whole_domain.hpp"

namespace halocline::test {
namespace {

using problem::Model;
using testing::ElementsAre;
using testing::HasSubstr;

Model model_of(const Problem& problem) {
  const problem::ProblemText found = problem::find_problem(problem);
  return problem::model_of(problem::read_text(found.name, found.text), {});
}

Problem two_fields() {
  return Problem::from_text(
      "axes = 2\ncells = [17, 13]\n[parameters]\nk = 0.0625\n[fields.u]\n"
      "initial = \"noise()\"\nboundary = \"periodic\"\n[fields.v]\n"
      "initial = \"noise(1)\"\nboundary = \"periodic\"\n[stop]\nsweeps = 4\n");
}

/// What the formulas become in a problem of two fields u and v.
std::vector<std::string> written(const Formula& u, const Formula& v) {
  return problem::written_out(model_of(two_fields().update("u", u).update("v", v)));
}

// The arithmetic of a program, and of a problem.
struct Reaction {
  double rate;
  template <class Field, class Select>
  auto operator()(const Field& a, const Field& b, const Select& choose) const {
    using std::sqrt;
    auto sum = a(-1, 0) + a(1, 0) + a(0, -1) + a(0, 1);
    sum -= 4 * a(0, 0);
    const auto reaction = a(0, 0) * b(0, 0) / (1 + sqrt(b(0, 0)));
    const auto next_a = a(0, 0) + (0.125 * sum - rate * reaction);
    const auto next_b = choose(b(0, 0) < 0.5, b(0, 0) + rate * reaction, -b(1, 1) * -0.5);
    return std::array{next_a, next_b};
  }
};

TEST(Formulas, ComputeWhatTheirCodeDoesWithNumbers) {
  const Cells u("u"), v("v");
  const Reaction reaction{0.25};
  const auto [next_u, next_v] =
      reaction(u, v, [](const Condition& condition, const Formula& yes, const Formula& no) {
        return select(condition, yes, no);
      });
  const Model model = model_of(two_fields().update("u", next_u).update("v", next_v));
  problem::WholeDomain<double> domain(model);
  constexpr int width = 17, height = 13;
  const auto index_of = [](int x, int y) {
    const int index = (x + width) % width + (y + height) % height * width;
    return static_cast<std::size_t>(index);
  };
  std::array<std::vector<double>, 2> old;
  for (std::size_t f = 0; f < 2; ++f) old[f].assign(domain.field(f).begin(), domain.field(f).end());
  for (int sweep = 0; sweep < 4; ++sweep) {
    domain.sweep();
    auto next = old;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const auto cells = [&](const std::vector<double>& values) {
          return [&, x, y](int i, int j) { return values[index_of(x + i, y + j)]; };
        };
        const auto numbers =
            reaction(cells(old[0]), cells(old[1]),
                     [](bool condition, double yes, double no) { return condition ? yes : no; });
        for (std::size_t f = 0; f < 2; ++f) next[f][index_of(x, y)] = numbers[f];
      }
    old = next;
  }
  for (std::size_t f = 0; f < 2; ++f)
    for (std::size_t i = 0; i < old[f].size(); ++i)
      ASSERT_EQ(domain.field(f)[i], old[f][i]) << "field " << f << ", cell " << i;
}

TEST(Formulas, BecomeTheirOperations) {
  const Cells u("u"), v("v");
  EXPECT_THAT(written(u + v - 1, u - (v - 1)), ElementsAre("u = u + v - 1", "v = u - (v - 1)"));
  EXPECT_THAT(written(2 * u / v, u / (2 * v)), ElementsAre("u = 2*u/v", "v = u/(2*v)"));
  EXPECT_THAT(written(-u * -0.5, Formula::named("k") * u(1, -2)),
              ElementsAre(HasSubstr("-u*"), "v = 0.0625*u[1,-2]"));
  EXPECT_THAT(written(pow(u, 3), fma(u, v, min(u, v))),
              ElementsAre("u = u*u*u", "v = fma(u, v, select(v < u, v, u))"));
  EXPECT_THAT(written(pow(u, v), max(u, abs(v))),
              ElementsAre("p1 = abs(v)", "u = pow(u, v)", "v = select(u < p1, p1, u)"));
  EXPECT_THAT(written(exp(log(sin(cos(tanh(sqrt(u)))))), 1e-05 * u),
              ElementsAre("u = exp(log(sin(cos(tanh(sqrt(u))))))", "v = 1e-05*u"));
}

TEST(Formulas, MeanWhatTheTextMeans) {
  const Cells u("u"), v("v");
  const auto text = [](const char* of_u, const char* of_v) {
    return problem::written_out(model_of(Problem::from_text(
        two_fields().text() + "[update]\nu = \"" + of_u + "\"\nv = \"" + of_v + "\"\n")));
  };
  const Formula laplacian = laplace(u), mass = u * v;
  EXPECT_EQ(written(u + 0.1 * laplace(laplacian - u), v + derivative(mass, 0, 4)),
            text("u + 0.1*laplace(laplace(u) - u)", "v + ddx(u*v, 4)"));
  EXPECT_EQ(written(u + second_derivative(u, 1, 6), mass * mass + mass),
            text("u + d2dy2(u, 6)", "u*v*(u*v) + u*v"));
  EXPECT_EQ(written(select((u < v && !(u >= 0.5)) || v == 1, u, v),
                    select(u <= v || (u != v && u > 0.25), Formula::named("x"), 2)),
            text("select(u < v and not u >= 0.5 or v == 1, u, v)",
                 "select(u <= v or u != v and u > 0.25, x, 2)"));
}

TEST(Formulas, MayShareTheirPartsAndBeLong) {
  const Cells u("u"), v("v");
  // Doubled 60 times: as text without shared parts it would have 2^60 terms.
  Formula power = u * 0.5;
  for (int i = 0; i < 60; ++i) power = power * 0.25 + power * 0.125;
  EXPECT_EQ(problem::effort_of(model_of(two_fields().update("u", power).update("v", v))).operations,
            1 + 3 * 60);
  Formula sum = 0.001 * u;
  for (int i = 0; i < 250; ++i) sum += 0.001 * u(i % 3 - 1, i % 5 - 2);
  EXPECT_GT(problem::effort_of(model_of(two_fields().update("u", sum).update("v", v))).operations,
            250);
}

TEST(Formulas, TellMistakes) {
  const Cells u("u"), v("v");
  const auto refused = [](const Problem& problem) {
    const Caught error = caught([&] { model_of(problem); });
    EXPECT_EQ(error.kind, ErrorKind::usage);
    return error.text;
  };
  EXPECT_THAT(refused(two_fields().update("u", u).update("w", v)), HasSubstr("'w'"));
  EXPECT_THAT(refused(two_fields().update("u", Cells("w")).update("v", v)), HasSubstr("'w'"));
  EXPECT_THAT(refused(two_fields().update("u", u(1)).update("v", v)), HasSubstr("1 offset here"));
  EXPECT_THAT(refused(two_fields().update("u", u(9, 0)).update("v", v)), HasSubstr("9 cells"));
  EXPECT_THAT(refused(two_fields().update("u", u).update("u", v)), HasSubstr("u"));
  EXPECT_THAT(refused(Problem("laplace").update("u", u)), HasSubstr("redefine"));
  EXPECT_EQ(caught([] { Formula(std::nan("")); }).kind, ErrorKind::usage);
  EXPECT_EQ(caught([&] { derivative(u, 3); }).kind, ErrorKind::usage);
  EXPECT_EQ(caught([&] {
              Formula sum = u;
              for (int i = 0; i < 300; ++i) sum = sum + 1;
            }).kind,
            ErrorKind::usage);
}

}  // namespace
}  // namespace halocline::test
