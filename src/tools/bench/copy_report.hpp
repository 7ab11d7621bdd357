// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `halocline bench copy` tells: one tree for text and JSON.

#include "bench/copy_bench.hpp"
#include "report/report.hpp"

namespace halocline::bench {

Report report_of(const CopyBenchResult& result);
/// The first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const CopyBenchResult& result);

/// "from pinned to device, 4096 bytes".
std::string name_of(const CopyTiming& timing);

}  // namespace halocline::bench
