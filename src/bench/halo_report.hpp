#pragma once
// What `halocline bench halo` tells: one tree for text and JSON.

#include "bench/halo_bench.hpp"
#include "report/report.hpp"

namespace halocline::bench {

Report report_of(const HaloBenchResult& result);

/// "shared", or "same-node shared, other-node mpi" where pairs differ; copies inside a rank count
/// only if there is nothing else.
std::string transport_text(const HaloTiming& timing);

}  // namespace halocline::bench
