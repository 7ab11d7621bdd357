// SPDX-License-Identifier: Apache-2.0
#include "problem/characters.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace halocline::problem {
namespace {

struct Typed {
  std::uint32_t first, last;
  std::string_view advice;
};

constexpr std::string_view plain_space = "write a plain space";
constexpr std::string_view leave_out = "leave it out";
constexpr std::string_view ascii_minus = "write -", asterisk = "write *", slash = "write /";
constexpr std::string_view name_letters = "names have letters a to z, digits and _";

/// In order; of letters only those frequent in formulas.
constexpr std::array<Typed, 57> typed_instead{{
    {0xa0, 0xa0, plain_space},
    {0xad, 0xad, leave_out},
    {0xb2, 0xb2, "write ^2"},
    {0xb3, 0xb3, "write ^3"},
    {0xb4, 0xb4, ascii_quote},
    {0xb7, 0xb7, asterisk},
    {0xb9, 0xb9, "write ^1"},
    {0xbc, 0xbc, "write (1/4)"},
    {0xbd, 0xbd, "write (1/2)"},
    {0xbe, 0xbe, "write (3/4)"},
    {0xd7, 0xd7, asterisk},
    {0xf7, 0xf7, slash},
    {0x2b9, 0x2bc, ascii_quote},
    {0x394, 0x394, "write laplace(...), or a name such as delta"},
    {0x3b1, 0x3b1, "write alpha"},
    {0x3b2, 0x3b2, "write beta"},
    {0x3b3, 0x3b3, "write gamma"},
    {0x3b4, 0x3b4, "write delta"},
    {0x3b5, 0x3b5, "write epsilon"},
    {0x3b7, 0x3b7, "write eta"},
    {0x3b8, 0x3b8, "write theta"},
    {0x3ba, 0x3ba, "write kappa"},
    {0x3bb, 0x3bb, "write lambda"},
    {0x3bc, 0x3bc, "write mu"},
    {0x3bd, 0x3bd, "write nu"},
    {0x3be, 0x3be, "write xi"},
    {0x3c0, 0x3c0, "write pi"},
    {0x3c1, 0x3c1, "write rho"},
    {0x3c3, 0x3c3, "write sigma"},
    {0x3c4, 0x3c4, "write tau"},
    {0x3c6, 0x3c6, "write phi"},
    {0x3c9, 0x3c9, "write omega"},
    {0x2000, 0x200a, plain_space},
    {0x200b, 0x200f, leave_out},
    {0x2010, 0x2015, ascii_minus},
    {0x2018, 0x201f, ascii_quote},
    {0x2022, 0x2022, asterisk},
    {0x202a, 0x202e, leave_out},
    {0x202f, 0x202f, plain_space},
    {0x2032, 0x2037, ascii_quote},
    {0x2044, 0x2044, slash},
    {0x205f, 0x205f, plain_space},
    {0x2060, 0x2064, leave_out},
    {0x2066, 0x2069, leave_out},
    {0x2070, 0x207f, "write powers with ^, as in x^2"},
    {0x2080, 0x208e, name_letters},
    {0x2202, 0x2202, "write ddx(...), ddy(...) or ddz(...)"},
    {0x2206, 0x2207, "write laplace(...), or ddx(...), ddy(...) and ddz(...)"},
    {0x2212, 0x2212, ascii_minus},
    {0x2215, 0x2215, slash},
    {0x2217, 0x2219, asterisk},
    {0x221a, 0x221a, "write sqrt(...)"},
    {0x2260, 0x2260, "write !="},
    {0x2264, 0x2264, "write <="},
    {0x2265, 0x2265, "write >="},
    {0x22c5, 0x22c5, asterisk},
    {0x3000, 0x3000, plain_space},
}};

std::string advice_on(std::uint32_t point) {
  const auto found =
      std::find_if(typed_instead.begin(), typed_instead.end(),
                   [&](const Typed& one) { return point >= one.first && point <= one.last; });
  if (found != typed_instead.end()) return std::string(found->advice);
  if (point == 0xfeff) return std::string(leave_out);
  // The wide forms of ASCII.
  if (point > 0xff00 && point < 0xff5f)
    return fmt::format("write {}", static_cast<char>(point - 0xff00 + 0x20));
  return "";
}

}  // namespace

std::string_view take_point(std::string_view& text) {
  std::size_t end = 1;
  while (end < text.size() && continues_code_point(text[end])) ++end;
  const std::string_view point = text.substr(0, end);
  text.remove_prefix(end);
  return point;
}

std::optional<std::uint32_t> decoded(std::string_view point) {
  constexpr std::array<unsigned, 5> marks{0, 0, 0xc0, 0xe0, 0xf0};
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const auto first = static_cast<unsigned char>(point[0]);
  if (point.size() == 1) return first < 0x80 ? std::optional<std::uint32_t>(first) : std::nullopt;
  if (point.size() > 4) return std::nullopt;
  std::uint32_t value = first - marks[point.size()];
  if (value >= 0x80U >> point.size()) return std::nullopt;
  for (const char c : point.substr(1)) value = value << 6 | (static_cast<unsigned char>(c) & 0x3f);
  const bool is_surrogate = value >= 0xd800 && value < 0xe000;
  if (value < least[point.size()] || value > 0x10ffff || is_surrogate) return std::nullopt;
  return value;
}

bool is_obeyed(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c || point == 0x200e ||
         point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x2069);
}

ForeignCharacter foreign_character(std::string_view text) {
  const std::string_view bytes = take_point(text);
  const std::optional<std::uint32_t> point = decoded(bytes);
  if (!point || *point < 0x80) return {};
  const std::string advice = advice_on(*point);
  if (advice == plain_space)
    return {fmt::format("space that is not plain (U+{:04X})", *point), advice};
  if (advice == leave_out) return {fmt::format("invisible character (U+{:04X})", *point), advice};
  return {fmt::format("'{}' (U+{:04X})", bytes, *point), advice};
}

}  // namespace halocline::problem
