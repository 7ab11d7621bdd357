// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fixes for an MPI that does not accept device memory.

#include <string>

#include "base/process/variables.hpp"

namespace halocline::proof {

/// The UCX found: distributions build it without CUDA.
enum class UcxHere { none, without_cuda, with_cuda };

/// Returns the fix for a failure with this MPI: `library` is comm::library_version(), `signal` what
/// ended a rank, 0 if nothing did. Without a full stop.
std::string fix(const std::string& library, const Variables& variables, int signal);

/// Returns variables to try next: added to `variables` they may fix a failure. None if all known
/// fixes were tried, or if no variable can fix it.
Variables settings_to_try(const std::string& library, const Variables& variables, int signal,
                          UcxHere ucx);

/// Returns variables that may speed up messages in GPU memory that already work; none if none are
/// known.
Variables faster_settings_to_try(const Variables& variables);

}  // namespace halocline::proof
