// SPDX-License-Identifier: Apache-2.0
#pragma once
// States of ranks in blocking calls, and cycles among them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace halocline::bench {

/// The state of a rank. Lanes, 0 to 31, distinguish messages between two ranks.
struct WaitState {
  enum class Does : std::int32_t { nothing_more, sends, receives, waits_for_all };
  Does does = Does::nothing_more;
  std::int32_t peer = -1;  ///< partner in a blocking call
  std::int32_t lane = 0;
  std::int32_t step = 0;  ///< incremented whenever a call returns
  // Bits of the lanes in which it has begun to send or receive.
  std::uint32_t sent = 0, received = 0;
  friend bool operator==(const WaitState&, const WaitState&) = default;
};

/// Finds a cycle of ranks, each of which waits for the next one. Returns the cycle of the lowest
/// rank that is in one, starting with that rank; empty if there is none. `states` are by rank.
std::vector<int> wait_cycle(std::span<const WaitState> states);

/// Returns "0 -> 1 -> 0: each waits in a send whose receive is not posted".
std::string cycle_text(const std::vector<int>& circle, std::span<const WaitState> states);

}  // namespace halocline::bench
