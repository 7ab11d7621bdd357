// SPDX-License-Identifier: Apache-2.0
#pragma once
// Formulas that C++ code recorded, as text.

#include <string>
#include <utility>
#include <vector>

#include <halocline/formula.hpp>

namespace halocline::problem {

/// Returns the sections [locals] and [update] of a problem file with such updates: (field,
/// formula). A part that is used more than once is a local. Throws usage for more
/// text than a problem file may have.
std::string text_of(const std::vector<std::pair<std::string, Formula>>& updates);

}  // namespace halocline::problem
