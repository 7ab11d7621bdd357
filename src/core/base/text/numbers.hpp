// SPDX-License-Identifier: Apache-2.0
#pragma once
// The grammar of numbers in options and environment variables, the same everywhere. A whole number
// is decimal, whatever it begins with: "100", "010" (ten), "1e6", "2.5e3"; then maybe Ki, Mi or Gi,
// factors of 1024, 1024^2 and 1024^3: "64Ki". Other numbers are decimal and finite: "0.05", "1e-6".

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>

namespace halocline {

struct WholeBounds {
  std::int64_t least;
  std::uint64_t most;
};

/// Reads a whole number, as an integer of 64 bits in two's complement. Throws as read_whole().
std::uint64_t read_whole_within(std::string_view word, std::string_view what,
                                const WholeBounds& bounds);

/// Reads a whole number. Throws usage for an empty word, one that is not a whole number, and one
/// out of bounds, which are those of the type at the widest. The text begins with `what`, such as
/// "--sweeps", and the word.
template <std::integral Integer>
Integer read_whole(std::string_view word, std::string_view what,
                   Integer least = std::numeric_limits<Integer>::min(),
                   Integer most = std::numeric_limits<Integer>::max()) {
  return static_cast<Integer>(read_whole_within(
      word, what, {static_cast<std::int64_t>(least), static_cast<std::uint64_t>(most)}));
}

/// Reads a number. Throws usage, with a text like read_whole(), for an empty word, one that is not
/// a number, an infinite one, NaN, and one that is too large or too small for a double.
double read_number(std::string_view word, std::string_view what);

}  // namespace halocline
