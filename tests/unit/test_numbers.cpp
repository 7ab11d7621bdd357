// SPDX-License-Identifier: Apache-2.0
// The grammar of numbers.

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text/numbers.hpp"
#include "support/caught.hpp"

namespace halocline {
namespace {

using test::Caught;
using test::caught;
using test::says;
using testing::AllOf;
using testing::HasSubstr;

std::int64_t whole(std::string_view word) { return read_whole<std::int64_t>(word, "--n"); }

template <class Integer>
std::string number_refusal(std::string_view word) {
  const Caught error = caught([&] { read_whole<Integer>(word, "--n"); });
  EXPECT_THAT(error, says(ErrorKind::usage, "--n '" + std::string(word) + "'"));
  return error.text;
}

TEST(WholeNumbers, AreDecimal) {
  EXPECT_EQ(whole("0"), 0);
  EXPECT_EQ(whole("42"), 42);
  EXPECT_EQ(whole("-42"), -42);
  EXPECT_EQ(whole("010"), 10) << "not octal";
  EXPECT_EQ(whole("0000000000000000000000000000007"), 7);
}

TEST(WholeNumbers, MayHaveAnExponentAndAPoint) {
  EXPECT_EQ(whole("1e3"), 1000);
  EXPECT_EQ(whole("2.5E3"), 2500);
  EXPECT_EQ(whole("1e+2"), 100);
  EXPECT_EQ(whole("500e-2"), 5);
  EXPECT_EQ(whole("3.0"), 3);
  EXPECT_EQ(whole("0e99999999999999999999"), 0);
  EXPECT_EQ(whole("9007199254740993e0"), 9007199254740993) << "2^53 + 1 is no double";
  EXPECT_EQ(whole("9.223372036854775807e18"), std::numeric_limits<std::int64_t>::max());
}

TEST(WholeNumbers, MayHaveAFactor) {
  EXPECT_EQ(whole("64Ki"), 65536);
  EXPECT_EQ(whole("1e1Mi"), 10 << 20);
  EXPECT_EQ(whole("-3Gi"), -3LL << 30);
  for (const char* word : {"Ki", "1K", "1k", "1ki", "1KiB", "1KiMi", "1Ti", "1.5Ki"})
    EXPECT_THAT(number_refusal<std::int64_t>(word), HasSubstr("whole number"));
}

TEST(WholeNumbers, AreNothingElse) {
  EXPECT_THAT(number_refusal<int>(""), HasSubstr("empty"));
  for (const char* word : {"-", "+1", " 1", "1 ", "1,2", "0x10", "1.5", "1.", ".5", "1e", "1e-1",
                           "--1", "1_000", "nan", "inf", "e3", "1e3.5", "1-2"})
    EXPECT_THAT(number_refusal<int>(word), HasSubstr("not a whole number")) << word;
}

TEST(WholeNumbers, FitTheirTypeOrAreRefusedWithTheBound) {
  EXPECT_EQ(read_whole<int>("2147483647", "--n"), 2147483647);
  EXPECT_EQ(read_whole<int>("-2147483648", "--n"), std::numeric_limits<int>::min());
  EXPECT_THAT(number_refusal<int>("2147483648"), HasSubstr("at most 2147483647"));
  EXPECT_THAT(number_refusal<int>("4294967297"), HasSubstr("at most 2147483647")) << "1 in 32 bits";
  EXPECT_THAT(number_refusal<int>("-2147483649"), HasSubstr("at least -2147483648"));
  EXPECT_EQ(whole("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(whole("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_THAT(number_refusal<std::int64_t>("9223372036854775808"),
              HasSubstr("at most 9223372036854775807"));
  EXPECT_THAT(number_refusal<std::int64_t>("-9223372036854775809"), HasSubstr("at least"));
  EXPECT_THAT(number_refusal<std::int64_t>("8589934592Gi"), HasSubstr("at most"));
  EXPECT_THAT(number_refusal<std::int64_t>("1e400"), HasSubstr("at most"));
  EXPECT_THAT(number_refusal<std::int64_t>("1e99999999999999999999"), HasSubstr("at most"));
  EXPECT_EQ(read_whole<std::uint64_t>("18446744073709551615", "--n"),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_THAT(number_refusal<std::uint64_t>("18446744073709551616"),
              HasSubstr("at most 18446744073709551615"));
  EXPECT_THAT(number_refusal<std::uint64_t>("-1"), HasSubstr("at least 0"));
  EXPECT_EQ(read_whole<std::uint64_t>("-0", "--n"), 0u);
}

TEST(WholeNumbers, StayWithinBoundsThatAreGiven) {
  EXPECT_EQ(read_whole<int>("8", "--n", 1, 8), 8);
  EXPECT_THAT(caught([] { read_whole<int>("9", "--n", 1, 8); }).text,
              AllOf(HasSubstr("'9'"), HasSubstr("at most 8")));
  EXPECT_THAT(caught([] { read_whole<int>("0", "--n", 1, 8); }).text, HasSubstr("at least 1"));
  EXPECT_THAT(caught([] { read_whole<int>("-9999999999999999999999", "--n", 1, 8); }).text,
              HasSubstr("at least 1"));
  EXPECT_EQ(read_whole<int>("-2", "--n", -2, 8), -2);
  EXPECT_THAT(caught([] { read_whole<int>("-3", "--n", -2, 8); }).text, HasSubstr("at least -2"));
}

TEST(Numbers, AreDecimalAndFinite) {
  EXPECT_EQ(read_number("0.05", "--t"), 0.05);
  EXPECT_EQ(read_number("010", "--t"), 10);
  EXPECT_EQ(read_number("-1e-6", "--t"), -1e-6);
  EXPECT_EQ(read_number(".5", "--t"), 0.5);
  EXPECT_EQ(read_number("1.7976931348623157e308", "--t"), std::numeric_limits<double>::max());
  for (const char* word : {"", "nan", "inf", "-inf", "infinity", "1e400", "-1e400", "1e-400",
                           "0x1p3", "+1", " 1", "1 ", "1,5", "5s", "1Ki", "e3", "-", "."}) {
    EXPECT_THAT(caught([&] { read_number(word, "--t"); }),
                says(ErrorKind::usage, "--t '" + std::string(word) + "'"));
  }
}

}  // namespace
}  // namespace halocline
