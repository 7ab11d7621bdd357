// SPDX-License-Identifier: Apache-2.0
#pragma once
// Precisions of floating-point values.

#include <optional>
#include <string_view>

namespace halocline {

/// The type of the cells of a solve: float (32 bits) or double (64 bits).
enum class Precision { f32, f64 };

/// Returns "f32" or "f64".
constexpr std::string_view name_of(Precision precision) {
  return precision == Precision::f32 ? "f32" : "f64";
}

/// Returns the precision of that name; nothing for other names.
constexpr std::optional<Precision> precision_named(std::string_view name) {
  for (const Precision precision : {Precision::f32, Precision::f64})
    if (name_of(precision) == name) return precision;
  return std::nullopt;
}

}  // namespace halocline
