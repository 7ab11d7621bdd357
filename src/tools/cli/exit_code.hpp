// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exit codes of the command.

#include <halocline/error.hpp>

namespace halocline::cli {

inline constexpr int exit_ok = 0, exit_wrong_result = 1, exit_usage = 2, exit_unavailable = 3,
                     exit_failure = 4;
/// The run was stopped on request, after a checkpoint.
inline constexpr int exit_stopped = 5;

constexpr int exit_code(ErrorKind kind) {
  if (kind == ErrorKind::usage) return exit_usage;
  if (kind == ErrorKind::unavailable) return exit_unavailable;
  return exit_failure;
}

}  // namespace halocline::cli
