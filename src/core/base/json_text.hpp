// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON from files that anybody may have written.

#include <string_view>

#include <nlohmann/json.hpp>

namespace halocline {

using Json = nlohmann::ordered_json;

/// Parses a text; returns a discarded value for one that is no JSON, or is nested so deeply that
/// the recursion over its values could overflow the stack. Throws nothing.
Json parse_json(std::string_view text);

}  // namespace halocline
