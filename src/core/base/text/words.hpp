// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers with their nouns.

#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

namespace halocline {

/// "1 rank", "2 ranks"; "1 axis", "2 axes".
template <class Integer>
std::string counted(Integer count, std::string_view noun) {
  static_assert(std::is_integral_v<Integer>);
  if (count == 1) return fmt::format("{} {}", count, noun);
  if (noun == "axis") return fmt::format("{} axes", count);
  return fmt::format("{} {}s", count, noun);
}

}  // namespace halocline
