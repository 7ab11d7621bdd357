// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `halocline bench progress` tells: one tree for text and JSON.

#include <optional>
#include <string>

#include "bench/progress_bench.hpp"
#include "report/report.hpp"

namespace halocline::bench {

Report report_of(const ProgressBenchResult& result);
/// The first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const ProgressBenchResult& result);

/// "64 KiB by mpi with host memory".
std::string name_of(const ProgressTiming& timing);

}  // namespace halocline::bench
