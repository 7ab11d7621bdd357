// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kinds of norms.

#include <optional>
#include <string_view>

namespace halocline {

/// How the change of all cells becomes one number: the largest absolute value, or the root of the
/// sum of squares; `none`: no norm is taken.
enum class Norm { none, max, l2 };

/// Returns "none", "max" or "l2".
constexpr std::string_view name_of(Norm norm) {
  return norm == Norm::none ? "none" : norm == Norm::max ? "max" : "l2";
}

/// The norm of that name, or nothing.
constexpr std::optional<Norm> norm_named(std::string_view name) {
  for (const Norm norm : {Norm::none, Norm::max, Norm::l2})
    if (name_of(norm) == name) return norm;
  return std::nullopt;
}

}  // namespace halocline
