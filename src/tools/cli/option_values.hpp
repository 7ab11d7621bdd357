// SPDX-License-Identifier: Apache-2.0
#pragma once
// From the words that were given for an option to its variable.

#include <string>
#include <vector>

#include "cli/options.hpp"

namespace halocline::cli {

/// Sets the variable; `words` has one each time that the option is given. Throws usage for a word
/// that is empty, no number in range or no choice, and for several of an option that is given once.
void set_variable(const Option& option, const std::vector<std::string>& words);

}  // namespace halocline::cli
