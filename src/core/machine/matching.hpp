// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matching of takers to places, at least cost.

#include <cstdint>
#include <vector>

namespace halocline::machine {

/// Marks a place that a taker cannot have.
inline constexpr std::int64_t unreachable = -1;

/// Assigns a place to each of `costs.size()` takers; costs[taker][place] >= 0, or unreachable.
/// Takers share places as evenly as possible (least sum of squares); among such matchings it finds
/// one of least total cost. Exact and deterministic. Each taker must reach a place. Takes
/// O(takers^2
/// * places^2) steps.
std::vector<std::size_t> match(const std::vector<std::vector<std::int64_t>>& costs);

}  // namespace halocline::machine
