// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who gets which place, when some places suit better than others.

#include <cstdint>
#include <vector>

namespace halocline::machine {

/// Marks a place that somebody cannot have.
inline constexpr std::int64_t unreachable = -1;

/// Gives each of `costs.size()` takers one place; costs[taker][place] >= 0, or unreachable. Places
/// may be shared, but as evenly as can be (least sum of squares); among such matchings it finds one
/// of least total cost. Exact, and the same every time. Each taker must reach a place. Takes
/// O(takers * (takers * places^2 + places^3)) steps.
std::vector<std::size_t> match(const std::vector<std::vector<std::int64_t>>& costs);

}  // namespace halocline::machine
