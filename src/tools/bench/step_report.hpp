// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `halocline bench step` tells: one tree for text and JSON.

#include <optional>
#include <string>

#include "bench/step_bench.hpp"
#include "report/report.hpp"

namespace halocline::bench {

Report report_of(const StepBenchResult& result);
/// The first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const StepBenchResult& result);

/// "4096x4096 on 4 ranks by peer".
std::string name_of(const StepTiming& timing);

}  // namespace halocline::bench
