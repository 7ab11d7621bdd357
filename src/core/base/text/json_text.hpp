// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON from files, which may be malformed or hostile, and to files. The only header that includes
// the JSON library.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace halocline {

template <class Value, class = void>
struct JsonSerializer;

/// JSON whose objects keep the order of their members. The serializer is Halocline's own: another
/// one under the library's name would also be that of programs that use the library themselves.
using Json =
    nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t,
                         std::uint64_t, double, std::allocator, JsonSerializer>;

/// A value is not a whole number, or does not fit the reader's type.
class NotWhole : public Json::exception {
 public:
  explicit NotWhole(const Json& value);
};

/// Returns `json` as a whole number, or throws NotWhole. The library's own conversion takes any
/// number, and is undefined for 1e30.
template <class Whole>
Whole whole_number(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.get_ref<const std::uint64_t&>();
    if (std::in_range<Whole>(value)) return static_cast<Whole>(value);
  } else if (json.is_number_integer()) {
    const auto value = json.get_ref<const std::int64_t&>();
    if (std::in_range<Whole>(value)) return static_cast<Whole>(value);
  }
  throw NotWhole(json);
}

template <class Value, class>
struct JsonSerializer : nlohmann::adl_serializer<Value, void> {};

template <class Whole>
struct JsonSerializer<Whole,
                      std::enable_if_t<std::is_integral_v<Whole> && !std::is_same_v<Whole, bool>>> {
  static void from_json(const Json& json, Whole& number) { number = whole_number<Whole>(json); }
  static void to_json(Json& json, Whole number) { nlohmann::to_json(json, number); }
};

/// Parses a text; returns a discarded value for one that is not JSON, is nested so deeply that the
/// recursion over its values could overflow the stack, or has an object of more than 10 000
/// members, each of which is looked for among all others. Throws nothing.
Json parse_json(std::string_view text);

/// Returns the text of a value, in lines indented by `indent`, or in one if that is negative.
/// Paths, variables and names from outside may hold bytes that are not UTF-8, which JSON cannot
/// represent: U+FFFD takes their place. The library's own function throws for them.
std::string write_json(const Json& json, int indent = -1);

}  // namespace halocline
