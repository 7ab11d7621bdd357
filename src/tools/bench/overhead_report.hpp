// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `halocline bench overhead` tells: one tree for text and JSON.

#include <optional>
#include <string>
#include <string_view>

#include "bench/overhead_bench.hpp"
#include "report/report.hpp"

namespace halocline::bench {

Report report_of(const OverheadBenchResult& result);
/// The first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const OverheadBenchResult& result);

/// "before-gpu", "host", "pinned".
std::string_view name_of(MessageCost::Stand stand);
/// "8 B before the GPU is used".
std::string name_of(const MessageCost& cost);

}  // namespace halocline::bench
