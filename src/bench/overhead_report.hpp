#pragma once
// What `halocline bench overhead` tells: one tree for text and JSON.

#include <string>
#include <string_view>

#include "bench/overhead_bench.hpp"
#include "report/report.hpp"

namespace halocline::bench {

Report report_of(const OverheadBenchResult& result);

/// "before-gpu", "host", "pinned".
std::string_view name_of(MessageCost::Stand stand);

}  // namespace halocline::bench
