// SPDX-License-Identifier: Apache-2.0
#include "links/ends.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "device/queue.hpp"
#include "proof/pattern.hpp"

namespace halocline::links {
namespace {

/// The place of a field's step among the offsets.
constexpr std::size_t step = 2;

/// Returns the rank of this node beyond the lower or upper end of this rank's cells, or -1.
int neighbour_at(const Communicator& communicator, const Grid& grid, End end) {
  Direction direction;
  direction[grid.axes() - 1] = end == at_lower ? -1 : 1;
  const int rank = grid.neighbour(grid.rank(), direction);
  const bool is_near =
      rank >= 0 && communicator.node_of(rank) == communicator.node_of(communicator.rank());
  return is_near ? rank : -1;
}

}  // namespace

EndNeighbours::EndNeighbours(const Communicator& communicator, const Grid& grid)
    : communicator_(communicator),
      ranks_{neighbour_at(communicator, grid, at_lower),
             neighbour_at(communicator, grid, at_upper)},
      axis_("xyz"[grid.axes() - 1]) {}

std::vector<int> EndNeighbours::peers() const {
  std::vector<int> peers;
  for (const int rank : ranks_)
    if (rank >= 0) peers.push_back(rank);
  return peers;
}

link::KernelWatch EndNeighbours::watch(const std::string& what) const {
  return {communicator_, "sweep {}", [ranks = ranks_, axis = axis_, what](int end) {
            return fmt::format("rank {} ({} {}{})", ranks[static_cast<std::size_t>(end)], what,
                               end == at_lower ? '-' : '+', axis);
          }};
}

std::byte* EndLink::from(End end) const {
  return neighbours_.has(end) ? window_.mine() + offsets_[end] : nullptr;
}

std::byte* EndLink::to(End end) const {
  if (!neighbours_.has(end)) return nullptr;
  const std::size_t peer = neighbours_.peer_of(end);
  return window_.of(peer) + window_.offsets_of(peer)[opposite(end)];
}

void EndLink::show_to_work(std::int64_t bytes, const std::array<bool, 2>& comes) const {
  const Communicator& communicator = neighbours_.communicator();
  const int me = communicator.rank();
  std::vector<std::byte> pattern(static_cast<std::size_t>(bytes));
  // The same two ranks may be neighbours at both ends: the round distinguishes the ends.
  comm::together(communicator, [&] {
    for (const End end : ends) {
      if (!neighbours_.has(end)) continue;
      if (window_.offsets_of(neighbours_.peer_of(end))[step] != offsets_[step])
        throw Error(ErrorKind::unavailable,
                    "the neighbours' fields have layers of different sizes");
      if (!comes[opposite(end)]) continue;
      proof::fill(pattern.data(), bytes, proof::seed_of(me, neighbours_[end], opposite(end)));
      device::copy(to(end), pattern.data(), bytes, Stream::host());
    }
  });
  comm::together(communicator, [&] {
    for (const End end : ends) {
      if (!neighbours_.has(end) || !comes[end]) continue;
      const int sender = neighbours_[end];
      device::copy(pattern.data(), from(end), bytes, Stream::host());
      const std::int64_t at =
          proof::first_difference(pattern.data(), bytes, proof::seed_of(sender, me, end));
      if (at < bytes)
        throw Error(ErrorKind::communication,
                    proof::text_of({.at = at, .bytes = bytes, .from = sender, .to = me},
                                   " stored by its GPU"));
      device::clear(from(end), bytes, Stream::host());
    }
  });
}

}  // namespace halocline::links
