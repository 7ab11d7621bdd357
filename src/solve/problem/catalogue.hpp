// SPDX-License-Identifier: Apache-2.0
#pragma once
// The problems there are. A new problem is one row here.

#include <span>

#include "problem/heat.hpp"
#include "problem/jacobi.hpp"
#include "problem/laplace.hpp"
#include "problem/star7.hpp"

namespace halocline::problem {

template <class... Problems>
struct List {};

using Catalogue = List<  //
    Laplace,             //
    Jacobi,              //
    Heat,                //
    Star7>;

std::span<const Problem* const> problems();

/// Throws usage, naming the problems there are.
const Problem& find_problem(std::string_view name);

}  // namespace halocline::problem
