// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many bits a value has.

#include <optional>
#include <string_view>

namespace halocline {

/// What the cells of a solve hold: float or double.
enum class Precision { f32, f64 };

/// Returns "f32" or "f64".
constexpr std::string_view name_of(Precision precision) {
  return precision == Precision::f32 ? "f32" : "f64";
}

/// The precision of that name, or nothing.
constexpr std::optional<Precision> precision_named(std::string_view name) {
  for (const Precision precision : {Precision::f32, Precision::f64})
    if (name_of(precision) == name) return precision;
  return std::nullopt;
}

}  // namespace halocline
