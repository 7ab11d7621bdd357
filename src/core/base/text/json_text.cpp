// SPDX-License-Identifier: Apache-2.0
#include "base/text/json_text.hpp"

#include <array>

#include <fmt/format.h>

namespace halocline {
namespace {

// Files of Halocline have 6 levels. A value takes some 200 bytes of stack per level to copy or to
// destroy.
constexpr int deepest_json = 100;
// Their largest objects have some 50 members. Each is compared to all before: 10 000 take 0.13 s,
// 100 000 13 s.
constexpr int most_members = 10'000;

/// Returns false as soon as brackets outside of strings are open `deepest_json` deep, or an object
/// has too many members.
bool is_simple(std::string_view text) {
  int depth = 0;
  std::array<int, deepest_json + 1> members{};  // by depth; of arrays, none
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    if (in_string) {
      if (character == '\\') ++i;
      if (character == '"') in_string = false;
    } else if (character == '"') {
      in_string = true;
    } else if (character == '[' || character == '{') {
      if (++depth > deepest_json) return false;
      members[static_cast<std::size_t>(depth)] = 0;
    } else if (character == ']' || character == '}') {
      if (--depth < 0) return false;
    } else if (character == ':') {
      if (++members[static_cast<std::size_t>(depth)] > most_members) return false;
    }
  }
  return true;
}

}  // namespace

NotWhole::NotWhole(const Json& value)
    : Json::exception(302, fmt::format("{} is not a whole number that fits",
                                       value.is_number() ? write_json(value) : value.type_name())
                               .c_str()) {}

Json parse_json(std::string_view text) {
  if (!is_simple(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

std::string write_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace halocline
