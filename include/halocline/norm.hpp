// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kinds of norms.

#include <optional>
#include <string_view>

namespace halocline {

/// Reduces the change of all cells to one number: `max`, the largest absolute value; `l2`, the
/// root of the sum of squares; `none`, no norm.
enum class Norm { none, max, l2 };

/// Returns "none", "max" or "l2".
constexpr std::string_view name_of(Norm norm) {
  return norm == Norm::none ? "none" : norm == Norm::max ? "max" : "l2";
}

/// Returns the norm of that name; nothing for other names.
constexpr std::optional<Norm> norm_named(std::string_view name) {
  for (const Norm norm : {Norm::none, Norm::max, Norm::l2})
    if (name_of(norm) == name) return norm;
  return std::nullopt;
}

}  // namespace halocline
