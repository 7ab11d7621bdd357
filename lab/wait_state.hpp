// SPDX-License-Identifier: Apache-2.0
#pragma once
// What ranks wait for in calls that block, and whether they wait in a circle.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace halocline::bench {

/// What a rank is doing. Messages between two ranks are told apart by lanes, 0 to 31.
struct WaitState {
  enum class Does : std::int32_t { nothing_more, sends, receives, waits_for_all };
  Does does = Does::nothing_more;
  std::int32_t peer = -1;  ///< to or from whom it sends or receives, in a call that blocks
  std::int32_t lane = 0;
  std::int32_t step = 0;  ///< grows whenever a call returns
  // The lanes in which it has begun to send or receive so far, a bit each.
  std::uint32_t sent = 0, received = 0;
  friend bool operator==(const WaitState&, const WaitState&) = default;
};

/// Finds ranks each of which is in a call that the next one, and the first after the last, has to
/// answer and has not: the circle of the lowest rank that is in one, beginning there. Empty if
/// there is none. `states` are by rank.
std::vector<int> wait_cycle(std::span<const WaitState> states);

/// Writes "0 -> 1 -> 0: each waits in a send whose receive is not posted".
std::string cycle_text(const std::vector<int>& circle, std::span<const WaitState> states);

}  // namespace halocline::bench
