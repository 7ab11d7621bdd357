// SPDX-License-Identifier: Apache-2.0
#pragma once
// A look at the keys of a text before TOML is read: the parser calls itself for each part of a
// dotted key, so that many of them would exhaust the stack.

#include <cstddef>
#include <optional>
#include <string_view>

namespace halocline::problem {

/// The parts of a key, a.b.c, at most; the longest that means something has six.
inline constexpr int most_parts = 16;

/// Returns where a key has its first part too many, in bytes.
std::optional<std::size_t> find_long_key(std::string_view text);

}  // namespace halocline::problem
