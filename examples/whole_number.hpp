// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the programs here do with a number on their command line.

#include <charconv>
#include <cstring>
#include <optional>

/// Reads a whole number from `least` to `most`; nothing if the text is anything else.
inline std::optional<long long> whole_number(const char* text, long long least, long long most) {
  const char* end = text + std::strlen(text);
  long long value = 0;
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || stop != end || value < least || value > most) return std::nullopt;
  return value;
}
