// SPDX-License-Identifier: Apache-2.0
// The report of a solve in words: whose sums they are, how far it came, how long all of it took.

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/solver.hpp>

namespace halocline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

SolveResult made_up() {
  SolveResult result;
  result.problem = "made_up";
  result.cells = {8, 4};
  result.precision = "f64";
  result.fields = {{.name = "u", .checksum = 10, .sum = 2.5}};
  result.sum = 2.5;
  result.checksum = 10;
  result.total_seconds = 6.5;
  result.ranks = 1;
  return result;
}

TEST(SolveReport, NamesTheFieldsOfSumsWhereThereAreSeveral) {
  SolveResult result = made_up();
  EXPECT_THAT(text_of(result), AllOf(HasSubstr("\n  sum           2.5\n"),
                                     HasSubstr("\n  checksum      000000000000000a\n")));
  result.fields.push_back({.name = "v", .checksum = 11, .sum = -1});
  EXPECT_THAT(text_of(result), AllOf(HasSubstr("field u       sum 2.5, checksum 000000000000000a"),
                                     HasSubstr("field v       sum -1, checksum 000000000000000b"),
                                     Not(HasSubstr("\n  sum "))));
  EXPECT_THAT(json_of(result),
              AllOf(HasSubstr("\"sum\": 2.5"), HasSubstr("\"checksum\": \"000000000000000a\"")));
}

TEST(SolveReport, TellsWhereASumIsNotFinite) {
  SolveResult result = made_up();
  result.fields[0].sum = result.sum = -std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(text_of(result), HasSubstr("\n  sum           not finite\n"));
  result.not_finite = {.field = "u", .cell = {3, 2, 0}};
  EXPECT_THAT(text_of(result), AllOf(HasSubstr("\n  sum           not finite, first at cell ("),
                                     Not(HasSubstr("nan"))));
}

TEST(SolveReport, TellsTheScaleOfPictures) {
  SolveResult result = made_up();
  EXPECT_THAT(json_of(result), HasSubstr("\"pictures\": []"));
  EXPECT_THAT(text_of(result), Not(HasSubstr("picture")));
  result.pictures = {{.path = "u.png",
                      .field = "u",
                      .map = "viridis",
                      .least = 0,
                      .largest = 0.998,
                      .text = "0 (dark) to 0.998 (bright), z = 32"},
                     {.path = "v.png", .field = "v", .map = "viridis", .text = "no finite value"}};
  EXPECT_THAT(text_of(result),
              AllOf(HasSubstr("\n  picture       u.png: 0 (dark) to 0.998 (bright), z = 32\n"),
                    HasSubstr("\n  picture       v.png: no finite value\n")));
  EXPECT_THAT(json_of(result),
              AllOf(HasSubstr("\"largest\": 0.998"), HasSubstr("\"least\": null")));
}

TEST(SolveReport, TellsTheTimeReachedAndTheSecondsOfAll) {
  SolveResult result = made_up();
  EXPECT_THAT(text_of(result),
              AllOf(HasSubstr("\n  total         6.50 s\n"), Not(HasSubstr("t ="))));
  EXPECT_THAT(json_of(result), AllOf(HasSubstr("\"time\": null"), HasSubstr("\"total\": 6.5")));
  result.time = 0.45;
  EXPECT_THAT(text_of(result), HasSubstr("\n  time          t = 0.45\n"));
  EXPECT_THAT(json_of(result), HasSubstr("\"time\": 0.45"));
}

}  // namespace
}  // namespace halocline
