// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `halocline bench p2p` tells: one tree for text and JSON.

#include "bench/p2p_bench.hpp"
#include "report/report.hpp"

namespace halocline::bench {

Report report_of(const P2pBenchResult& result);
/// The first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const P2pBenchResult& result);

/// "ranks 0-3, 8 bytes by peer with device memory".
std::string name_of(const P2pTiming& timing);

/// 10^6 bytes per second of a window of messages, from the seconds that it took; those of both
/// directions together count twice the bytes.
double megabytes_per_second(const P2pBenchResult& result, const P2pTiming& timing, double seconds);

}  // namespace halocline::bench
