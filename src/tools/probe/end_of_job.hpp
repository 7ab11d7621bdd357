// SPDX-License-Identifier: Apache-2.0
#pragma once
// Descriptions of how a job ended, from exit codes and messages of launchers.

#include <chrono>
#include <string>
#include <string_view>

#include "launch/job.hpp"
#include "launch/launcher.hpp"

namespace halocline::probe {

/// "rank 1 was ended by signal 11 (Segmentation fault)", "timed out after 60 s", "the ranks ended
/// with exit code 4". `time_limit` is the job's.
std::string end_in_words(const JobEnd& end, LauncherKind kind,
                         std::chrono::milliseconds time_limit);

/// Returns the signal that ended a rank; 0 if none is known.
int signal_in(const JobEnd& end, LauncherKind kind);

/// Returns a job's error messages in one line: our first one, or all distinct messages of MPI and
/// the launcher, without routine messages about early ends. Skips lines with `mark`, which are the
/// probe's. Empty if there are none.
std::string complaint_in(const JobEnd& end, std::string_view mark);

}  // namespace halocline::probe
