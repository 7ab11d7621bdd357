#pragma once
// What `halocline bench halo` tells: one tree for text and JSON.

#include "bench/halo_bench.hpp"
#include "report/report.hpp"

namespace halocline::bench {

Report report_of(const HaloBenchResult& result);

/// As text_of() in traits.hpp.
std::string transport_text(const HaloTiming& timing);

}  // namespace halocline::bench
