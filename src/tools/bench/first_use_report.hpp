// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `halocline bench first-use` tells: one tree for text and JSON.

#include "bench/first_use_bench.hpp"
#include "report/report.hpp"

namespace halocline::bench {

Report report_of(const FirstUseBenchResult& result);
/// The first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const FirstUseBenchResult& result);

/// "4096 bytes by peer with device memory".
std::string name_of(const FirstUseTiming& timing);

}  // namespace halocline::bench
