// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of options, from words to variables.

#include <string>
#include <vector>

#include "cli/options.hpp"

namespace halocline::cli {

/// Sets the variable; `words` has one word for each occurrence of the option. Throws usage for an
/// empty word, a number out of range, an unknown choice, and for repeated options that must not be.
void set_variable(const Option& option, const std::vector<std::string>& words);

}  // namespace halocline::cli
