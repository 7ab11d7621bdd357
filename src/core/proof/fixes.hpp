// SPDX-License-Identifier: Apache-2.0
#pragma once
// What to change when device memory cannot be given to MPI.

#include <string>

#include "base/variables.hpp"

namespace halocline::proof {

/// What there is of UCX: distributions build it without CUDA.
enum class UcxHere { none, without_cuda, with_cuda };

/// Says what to do about a failure, for the MPI at hand: `library` as comm::library_version()
/// names it, `how` as Proof::how tells it. Words without a full stop.
std::string fix(const std::string& library, const Variables& variables, const std::string& how);

/// Variables to try next: on top of `variables` they may fix a failure. None if all that is known
/// was tried, or if what is missing cannot be set.
Variables settings_to_try(const std::string& library, const Variables& variables,
                          const std::string& how, UcxHere ucx);

/// Variables that may make a GPU's memory go faster where it goes already; none if nothing is
/// known.
Variables faster_settings_to_try(const Variables& variables);

}  // namespace halocline::proof
