// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON from files that anybody may have written. Every source gets nlohmann/json.hpp from here.

#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

/// How JSON becomes a whole number. The library's own way takes any number: of one like 1e30 nobody
/// knows what it makes.
template <class Whole>
struct nlohmann::adl_serializer<
    Whole, std::enable_if_t<std::is_integral_v<Whole> && (sizeof(Whole) > 1)>> {
  /// Throws the library's error of a wrong type for what is no whole number, or does not fit.
  template <class AnyJson>
  static void from_json(const AnyJson& json, Whole& number) {
    const auto take = [&](auto value) {
      if (!std::in_range<Whole>(value)) return false;
      number = static_cast<Whole>(value);
      return true;
    };
    if (json.is_number_unsigned() &&
        take(json.template get_ref<const typename AnyJson::number_unsigned_t&>()))
      return;
    if (json.is_number_integer() && !json.is_number_unsigned() &&
        take(json.template get_ref<const typename AnyJson::number_integer_t&>()))
      return;
    // Versions of the library differ in how its errors are made, so it has to find one itself.
    if (json.is_number_integer())
      static_cast<void>(json.template get_ref<const typename AnyJson::string_t&>());
    else
      static_cast<void>(json.template get_ref<const typename AnyJson::number_integer_t&>());
  }
  template <class AnyJson>
  static void to_json(AnyJson& json, Whole number) {
    nlohmann::to_json(json, number);
  }
};

namespace halocline {

using Json = nlohmann::ordered_json;

/// Parses a text; returns a discarded value for one that is no JSON, or is nested so deeply that
/// the recursion over its values could overflow the stack. Throws nothing.
Json parse_json(std::string_view text);

}  // namespace halocline
