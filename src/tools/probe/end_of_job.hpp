// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a job ended, in words: what can be made of exit codes and of what launchers say.

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

/// Returns the signal that ended a rank, as far as the job's end tells; 0 if none is known.
int signal_in(const JobEnd& end, LauncherKind kind);

/// Returns what a job complained of, in one line: the first line of ours, else the reasons that MPI
/// and the launcher gave, whole and each once, without what they always say of a job that ends
/// early. Lines with `mark` are the probe's. Empty if there is none.
std::string complaint_in(const JobEnd& end, std::string_view mark);

}  // namespace halocline::probe
