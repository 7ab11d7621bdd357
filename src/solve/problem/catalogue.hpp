// SPDX-License-Identifier: Apache-2.0
#pragma once
// The catalogue of problems. To add one, add a row here.

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

/// Lists the problems, in the order of the catalogue.
std::span<const Problem* const> problems();

/// Returns the problem of that name. Throws usage, with a list of the problems, for other names.
const Problem& find_problem(std::string_view name);

}  // namespace halocline::problem
