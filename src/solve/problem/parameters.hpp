// SPDX-License-Identifier: Apache-2.0
#pragma once
// The numbers of a problem: domain, spacing, parameters, and the conditions that they must meet.

#include "problem/file.hpp"
#include "problem/meaning.hpp"
#include "problem/model.hpp"

namespace halocline::problem {

/// Sets those of a model that has its axes and cells, and adds their values to `names`. Throws
/// usage for numbers that are not finite or do not meet a condition of the file.
void set_parameters(const File& file, const Choices& choices, Names& names, Model& model);

}  // namespace halocline::problem
