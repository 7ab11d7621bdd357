// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `halocline bench mesh` tells: one tree for text and JSON.

#include <optional>
#include <string>

#include "bench/mesh_bench.hpp"
#include "report/report.hpp"

namespace halocline::bench {

Report report_of(const MeshBenchResult& result);
/// The first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const MeshBenchResult& result);

/// "ordered, 1 MiB".
std::string name_of(const MeshTiming& timing);

}  // namespace halocline::bench
