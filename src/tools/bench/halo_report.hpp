// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `halocline bench halo` tells: one tree for text and JSON.

#include <optional>
#include <string>

#include "bench/halo_bench.hpp"
#include "report/report.hpp"

namespace halocline::bench {

Report report_of(const HaloBenchResult& result);
/// The first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const HaloBenchResult& result);

/// "1024x1024 cells per rank by shared".
std::string name_of(const HaloTiming& timing);

}  // namespace halocline::bench
