// SPDX-License-Identifier: Apache-2.0
#pragma once
// `halocline doctor`.

#include "cli/command_line.hpp"

namespace halocline::cli {

/// Examines this machine and tells; returns the exit code.
int run_doctor(const DoctorCommand& command);

}  // namespace halocline::cli
