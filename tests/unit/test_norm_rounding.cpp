// SPDX-License-Identifier: Apache-2.0
// How far apart two norms of equal changes may be: sums in the orders of the backends, and sums
// that lack something.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "solver/engine/norm_rounding.hpp"

namespace halocline::solver {
namespace {

Case jacobi(const Extents& cells, Norm norm = Norm::l2) {
  SolveOptions options;
  options.problem = "jacobi";
  options.cells = cells;
  options.norm = norm;
  return make_case(options, 1);
}

/// The L2 norm of a grid of equal changes, as `ranks` along y add it up: rows one by one.
double norm_of_rows(std::int64_t rows, double change, std::int64_t ranks) {
  double sum = 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    double of_rank = 0;
    for (std::int64_t y = rows * rank / ranks; y < rows * (rank + 1) / ranks; ++y)
      of_rank += change * change;
    sum += of_rank;
  }
  return std::sqrt(sum);
}

TEST(NormRounding, OfManyRowsIsMoreThanTheirOrderMakes) {
  const std::int64_t rows = 3'000'000;
  const Case the_case = jacobi({1, rows});
  const double alone = norm_of_rows(rows, 0.1, 1);
  for (const std::int64_t ranks : {2, 3, 1000}) {
    const double split = norm_of_rows(rows, 0.1, ranks);
    EXPECT_TRUE(is_same_norm(the_case, split, alone)) << ranks << " ranks: " << split / alone - 1;
  }
  EXPECT_GT(std::abs(norm_of_rows(rows, 0.1, 1000) / alone - 1), 1e-12)
      << "rows too few to show that the bound grows with them";
}

TEST(NormRounding, IsLessThanARowThatIsMissing) {
  const Case long_case = jacobi({1, 3'000'000});
  const double all = norm_of_rows(3'000'000, 0.1, 1);
  EXPECT_FALSE(is_same_norm(long_case, norm_of_rows(2'999'999, 0.1, 1), all));
  const Case square = jacobi({4096, 4096});
  EXPECT_FALSE(is_same_norm(square, std::sqrt(1 - 1.0 / (4096 * 4096)), 1)) << "one cell";
}

TEST(NormRounding, StaysSmallOnCommonGrids) {
  EXPECT_LT(rounding_of_norm(jacobi({1024, 1024})), 1e-12);
  EXPECT_LT(rounding_of_norm(jacobi({16384, 16384})), 1e-11);
  EXPECT_FALSE(is_same_norm(jacobi({1024, 1024}), 1, 1 + 1e-11));
}

TEST(NormRounding, OfTheMaximumIsNone) {
  const Case the_case = jacobi({1, 3'000'000}, Norm::max);
  EXPECT_EQ(rounding_of_norm(the_case), 0);
  EXPECT_TRUE(is_same_norm(the_case, 0.25, 0.25));
  EXPECT_FALSE(is_same_norm(the_case, 0.25, std::nextafter(0.25, 1.0)));
}

TEST(NormRounding, InfiniteAndUndefinedNormsAgreeWithTheirOwnKind) {
  const double infinite = std::numeric_limits<double>::infinity();
  const double undefined = std::numeric_limits<double>::quiet_NaN();
  for (const Norm norm : {Norm::max, Norm::l2}) {
    const Case the_case = jacobi({64, 64}, norm);
    EXPECT_TRUE(is_same_norm(the_case, infinite, infinite));
    EXPECT_TRUE(is_same_norm(the_case, undefined, undefined));
    for (const auto& [a, b] : {std::pair(infinite, undefined), std::pair(undefined, infinite),
                               std::pair(infinite, 1e308), std::pair(1.0, infinite),
                               std::pair(undefined, 1.0), std::pair(1.0, undefined)})
      EXPECT_FALSE(is_same_norm(the_case, a, b)) << a << " and " << b;
  }
}

}  // namespace
}  // namespace halocline::solver
