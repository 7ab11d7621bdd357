// SPDX-License-Identifier: Apache-2.0
#pragma once
// Known names that are close to an unknown one.

#include <string>
#include <string_view>
#include <vector>

namespace halocline {

/// Returns the one of `names` that a word misspells; empty if there is none, or more than one that
/// is as near. A name is near if only capitals differ; if one letter is missing, too many, wrong or
/// swapped, or two in names from five letters; or if it is the only one that the word begins. Names
/// with other digits are never near, nor are those of one or two letters. Leading dashes do not
/// count as letters.
std::string near_miss(std::string_view word, const std::vector<std::string>& names);
/// Returns it as a question, "; do you mean 'alpha'?", or nothing.
std::string do_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace halocline
