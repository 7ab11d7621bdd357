// SPDX-License-Identifier: Apache-2.0
#pragma once
// Variables that a launcher's arguments set in ranks.

#include "base/process/variables.hpp"
#include "launch/launcher.hpp"

namespace halocline {

/// Returns the variables that ranks get: `ours`, changed by what the launcher's arguments set
/// (--mca, -x; -genv, -env; srun's --export).
Variables variables_in_ranks(const Launcher& launcher, Variables ours);

/// Returns the launcher without --mca, -x, -genv and -env: its ranks get our own variables.
Launcher without_settings(const Launcher& launcher);

}  // namespace halocline
