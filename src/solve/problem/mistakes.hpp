// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mistakes in expressions, as errors of the file that has them.

#include <string>

#include "problem/source.hpp"
#include "problem/syntax.hpp"

namespace halocline::problem {

/// Returns the text of the error, with line and column in the file.
std::string shown(const Source& source, const Written& written, const Mistake& mistake);

}  // namespace halocline::problem
