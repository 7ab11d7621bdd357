// SPDX-License-Identifier: Apache-2.0
#include "exchange/ends.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "device/queue.hpp"
#include "proof/pattern.hpp"

namespace halocline::exchange {
namespace {

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
    : ranks_{neighbour_at(communicator, grid, at_lower),
             neighbour_at(communicator, grid, at_upper)},
      axis_("xyz"[grid.axes() - 1]) {}

std::vector<int> EndNeighbours::peers() const {
  std::vector<int> peers;
  for (const int rank : ranks_)
    if (rank >= 0) peers.push_back(rank);
  return peers;
}

std::string EndNeighbours::name_of(End end, const std::string& what) const {
  return fmt::format("rank {} ({} {}{})", (*this)[end], what, end == at_lower ? '-' : '+', axis_);
}

void show_ends_to_work(const Communicator& communicator, const EndNeighbours& neighbours,
                       const std::array<EndMemory, 2>& memory, std::int64_t bytes) {
  const int me = communicator.rank();
  std::vector<std::byte> pattern(static_cast<std::size_t>(bytes));
  // The same two ranks may be neighbours at both ends: the round distinguishes the ends.
  comm::together(communicator, [&] {
    for (const End end : ends) {
      if (!neighbours.has(end) || memory[end].to == nullptr) continue;
      proof::fill(pattern.data(), bytes, proof::seed_of(me, neighbours[end], opposite(end)));
      device::copy(memory[end].to, pattern.data(), bytes, Stream::host());
    }
  });
  comm::together(communicator, [&] {
    for (const End end : ends) {
      if (!neighbours.has(end) || memory[end].from == nullptr) continue;
      const int from = neighbours[end];
      device::copy(pattern.data(), memory[end].from, bytes, Stream::host());
      const std::int64_t at =
          proof::first_difference(pattern.data(), bytes, proof::seed_of(from, me, end));
      if (at < bytes)
        throw Error(ErrorKind::communication,
                    proof::text_of({.at = at, .bytes = bytes, .from = from, .to = me},
                                   " stored by its GPU"));
      device::clear(memory[end].from, bytes, Stream::host());
    }
  });
}

}  // namespace halocline::exchange
