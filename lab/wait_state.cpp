// SPDX-License-Identifier: Apache-2.0
#include "lab/wait_state.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace halocline::bench {
namespace {

using Does = WaitState::Does;

/// Whom a rank waits for who has not done his part yet; nobody if it waits for bytes to move.
std::optional<int> held_up_by(const WaitState& mine, std::span<const WaitState> states) {
  if (mine.does != Does::sends && mine.does != Does::receives) return std::nullopt;
  const WaitState& theirs = states[static_cast<std::size_t>(mine.peer)];
  const std::uint32_t begun = mine.does == Does::sends ? theirs.received : theirs.sent;
  if ((begun >> mine.lane & 1u) != 0) return std::nullopt;
  return mine.peer;
}

bool all_are(const std::vector<int>& circle, std::span<const WaitState> states, Does does) {
  return std::all_of(circle.begin(), circle.end(),
                     [&](int rank) { return states[static_cast<std::size_t>(rank)].does == does; });
}

}  // namespace

std::vector<int> wait_cycle(std::span<const WaitState> states) {
  for (std::size_t first = 0; first < states.size(); ++first) {
    // A rank waits for one at most, so a path that is as long as there are ranks does not return.
    std::vector<int> path{static_cast<int>(first)};
    while (path.size() <= states.size()) {
      const auto next = held_up_by(states[static_cast<std::size_t>(path.back())], states);
      if (!next) break;
      if (*next == path.front()) return path;
      path.push_back(*next);
    }
  }
  return {};
}

std::string cycle_text(const std::vector<int>& circle, std::span<const WaitState> states) {
  std::string text;
  for (const int rank : circle) text += fmt::format("{} -> ", rank);
  text += fmt::format("{}: ", circle.front());
  if (all_are(circle, states, Does::sends))
    return text + "each waits in a send whose receive is not posted";
  if (all_are(circle, states, Does::receives))
    return text + "each waits in a receive whose send is not posted";
  return text + "each waits in a send or receive that the next one has not reached";
}

}  // namespace halocline::bench
