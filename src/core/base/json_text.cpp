// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.hpp"

#include <fmt/format.h>

namespace halocline {
namespace {

// Files of Halocline have 6 levels. A value takes some 200 bytes of stack per level to copy or to
// destroy.
constexpr int deepest = 100;

/// Returns false as soon as brackets outside of strings are open `deepest` deep.
bool is_shallow(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    if (in_string) {
      if (character == '\\') ++i;
      if (character == '"') in_string = false;
    } else if (character == '"') {
      in_string = true;
    } else if (character == '[' || character == '{') {
      if (++depth > deepest) return false;
    } else if (character == ']' || character == '}') {
      --depth;
    }
  }
  return true;
}

}  // namespace

NotWhole::NotWhole(const std::string& value)
    : Json::exception(302, fmt::format("{} is not a whole number that fits", value).c_str()) {}

Json parse_json(std::string_view text) {
  if (!is_shallow(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

}  // namespace halocline
