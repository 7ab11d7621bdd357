// SPDX-License-Identifier: Apache-2.0
#pragma once
// What somebody may have meant.

#include <string>
#include <string_view>
#include <vector>

namespace halocline::cli {

/// Returns the one of `names` that differs from a word by one or two letters that are missing, too
/// many, wrong or swapped, or the only one that the word begins; empty if there is none.
std::string near_miss(std::string_view word, const std::vector<std::string>& names);

}  // namespace halocline::cli
