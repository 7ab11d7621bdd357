// SPDX-License-Identifier: Apache-2.0
// JSON that anybody may have written: numbers that no variable holds, and brackets without end.

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text/json_text.hpp"

namespace halocline {
namespace {

using testing::HasSubstr;

template <class Whole>
std::string json_refusal(const std::string& text) {
  try {
    static_cast<void>(parse_json(text).get<Whole>());
  } catch (const Json::exception& error) {
    return error.what();
  }
  return "";
}

TEST(JsonText, WholeNumbersAreTakenIfTheyFit) {
  EXPECT_EQ(parse_json("-3").get<int>(), -3);
  EXPECT_EQ(parse_json("-9223372036854775808").get<std::int64_t>(),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_json("9223372036854775807").get<std::int64_t>(),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_json("18446744073709551615").get<std::uint64_t>(),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_json("[1, 2]").get<std::vector<int>>(), (std::vector{1, 2}));
  EXPECT_EQ(Json(std::int64_t{-7}).dump(), "-7");
  for (const char* text : {"1e30", "-1e30", "0.5", "1.0", "2147483648", "-2147483649", "null",
                           "true", "\"1\"", "[1]", "{}", "18446744073709551616"})
    EXPECT_THAT(json_refusal<int>(text), HasSubstr("is not a whole number that fits")) << text;
  EXPECT_THAT(json_refusal<std::int64_t>("9223372036854775808"),
              HasSubstr("9223372036854775808 is"));
  EXPECT_THAT(json_refusal<std::uint64_t>("-1"), HasSubstr("-1 is"));
  EXPECT_THAT(json_refusal<std::vector<int>>("[1, 1e30]"), HasSubstr("1e+30 is"));
}

TEST(JsonText, MembersKeepTheirOrder) {
  EXPECT_EQ(parse_json(R"({"b": 1, "a": true})").dump(), R"({"b":1,"a":true})");
}

TEST(JsonText, BytesThatAreNotUtf8AreWrittenAsUnknownCharacters) {
  EXPECT_EQ(write_json({{"caf\xe9/\xc3\xa9", "\xff"}}),
            "{\"caf\xef\xbf\xbd/\xc3\xa9\":\"\xef\xbf\xbd\"}");
  EXPECT_EQ(write_json({{"a", 1}}, 1), "{\n \"a\": 1\n}");
}

TEST(JsonText, NoJsonIsDiscarded) {
  for (const std::string& text :
       {std::string("Once upon a time"), std::string(10000, '['), std::string("[1"), std::string()})
    EXPECT_TRUE(parse_json(text).is_discarded()) << text.substr(0, 20);
  EXPECT_TRUE(parse_json('"' + std::string(10000, '[') + '"').is_string());
}

TEST(JsonText, IsTakenAsFarAsItIsNotDeep) {
  const auto nested = [](std::size_t deep) {
    return std::string(deep, '[') + std::string(deep, ']');
  };
  EXPECT_TRUE(parse_json(nested(50)).is_array());
  EXPECT_TRUE(parse_json(nested(200'000)).is_discarded());
  std::string objects, wide = "[0";
  for (int i = 0; i < 200'000; ++i) {
    objects += R"({"a":)";
    wide += ",[]";
  }
  EXPECT_TRUE(parse_json(objects).is_discarded());
  EXPECT_EQ(parse_json(wide + "]").size(), 200'001U);
  EXPECT_EQ(parse_json(R"({"a": [1, "]]{{\"[["]})")["a"][0], 1);
}

TEST(JsonText, ObjectsOfManyMembersTakeNoTime) {
  const auto object = [](int members) {
    std::string text = "{";
    for (int i = 0; i < members; ++i)
      text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":[]";
    return text + "}";
  };
  EXPECT_EQ(parse_json(object(1000)).size(), 1000U);
  EXPECT_TRUE(parse_json("[" + object(100'000) + "]").is_discarded());
  // The limit is that of one object, and colons in strings are none.
  EXPECT_EQ(parse_json("[" + object(9000) + "," + object(9000) + "]").size(), 2U);
  EXPECT_TRUE(parse_json('"' + std::string(20'000, ':') + '"').is_string());
}

}  // namespace
}  // namespace halocline
