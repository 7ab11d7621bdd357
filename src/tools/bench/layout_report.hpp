// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `halocline bench layout` tells: one tree for text and JSON.

#include <cstdint>
#include <optional>
#include <string>

#include "bench/layout_bench.hpp"
#include "report/report.hpp"

namespace halocline::bench {

Report report_of(const LayoutBenchResult& result);
/// The first combination whose result differs, in words; nothing if none does.
std::optional<std::string> wrong_of(const LayoutBenchResult& result);

/// "staged with layout brick and 8 sweeps per exchange".
std::string name_of(const std::string& way, const std::string& layout, std::int64_t steps);
std::string name_of(const LayoutTiming& timing);
std::string name_of(const KernelGain& kernel);
/// Behind the name of a way.
inline constexpr const char* by_plain_kernel = ", by the plain kernel,";

}  // namespace halocline::bench
