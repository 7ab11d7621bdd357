// SPDX-License-Identifier: Apache-2.0
#pragma once
// Formulas that C++ code recorded, as text.

#include <string>
#include <utility>
#include <vector>

#include <halocline/formula.hpp>

namespace halocline::problem {

/// Returns the sections [locals] and [update] of a problem file with such updates: (field,
/// formula). What several formulas use, or one several times, is a local. Throws usage for more
/// text than a problem file may have.
std::string text_of(const std::vector<std::pair<std::string, Formula>>& updates);

}  // namespace halocline::problem
