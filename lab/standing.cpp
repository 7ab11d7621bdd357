// SPDX-License-Identifier: Apache-2.0
#include "lab/standing.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace halocline::bench {
namespace {

using Does = Standing::Does;

/// Whom a rank waits for who has not done his part yet; nobody if it waits for bytes to move.
std::optional<int> held_up_by(const Standing& mine, std::span<const Standing> standings) {
  if (mine.does != Does::sends && mine.does != Does::receives) return std::nullopt;
  const Standing& theirs = standings[static_cast<std::size_t>(mine.peer)];
  const std::uint32_t begun = mine.does == Does::sends ? theirs.received : theirs.sent;
  if ((begun >> mine.lane & 1u) != 0) return std::nullopt;
  return mine.peer;
}

bool all_are(const std::vector<int>& circle, std::span<const Standing> standings, Does does) {
  return std::all_of(circle.begin(), circle.end(), [&](int rank) {
    return standings[static_cast<std::size_t>(rank)].does == does;
  });
}

}  // namespace

std::vector<int> circle_of_waits(std::span<const Standing> standings) {
  for (std::size_t first = 0; first < standings.size(); ++first) {
    // A rank waits for one at most, so a path that is as long as there are ranks does not return.
    std::vector<int> path{static_cast<int>(first)};
    while (path.size() <= standings.size()) {
      const auto next = held_up_by(standings[static_cast<std::size_t>(path.back())], standings);
      if (!next) break;
      if (*next == path.front()) return path;
      path.push_back(*next);
    }
  }
  return {};
}

std::string text_of_circle(const std::vector<int>& circle, std::span<const Standing> standings) {
  std::string text;
  for (const int rank : circle) text += fmt::format("{} -> ", rank);
  text += fmt::format("{}: ", circle.front());
  if (all_are(circle, standings, Does::sends))
    return text + "each waits in a send whose receive is not posted";
  if (all_are(circle, standings, Does::receives))
    return text + "each waits in a receive whose send is not posted";
  return text + "each waits in a send or receive that the next one has not reached";
}

}  // namespace halocline::bench
