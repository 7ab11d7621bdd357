// SPDX-License-Identifier: Apache-2.0
#pragma once
// The likely intention where a text is not well-formed TOML.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace halocline::problem {

struct Slip {
  std::size_t at, length;  ///< bytes
  std::string what;
};

/// Looks at the line of a parser's error, which is at a byte, for what people often write: formulas
/// and words without quotes, characters that were pasted.
std::optional<Slip> find_slip(std::string_view text, std::size_t at);

}  // namespace halocline::problem
