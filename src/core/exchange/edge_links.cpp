// SPDX-License-Identifier: Apache-2.0
#include "exchange/edge_links.hpp"

#include <cstddef>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "device/queue.hpp"

namespace halocline::exchange {
namespace {

using device::EdgeWords;
using transport::PeerWindow;

constexpr std::int64_t vector_bytes = 16;

std::int64_t bytes_of_edge(std::int64_t row_bytes) {
  return (row_bytes + vector_bytes - 1) / vector_bytes * device::edge_pairs_per_vector *
         static_cast<std::int64_t>(sizeof(EdgeWords));
}

}  // namespace

std::optional<std::string> EdgeLinks::unavailable(const Communicator& communicator,
                                                  const Grid& grid) {
  if (communicator.node_count() > 1) return "the ranks are on several nodes";
  if (grid.axes() != 2) return fmt::format("the grid has {} axes, not 2", grid.axes());
  if (grid.process_grid().values().x > 1) return "ranks split the cells along x";
  return std::nullopt;
}

EdgeLinks::Ends EdgeLinks::ends_of(const Grid& grid) {
  Direction down, up;
  down[1] = -1;
  up[1] = 1;
  return {grid.neighbour(grid.rank(), down), grid.neighbour(grid.rank(), up)};
}

std::vector<int> EdgeLinks::peers() const {
  std::vector<int> ranks;
  for (const int rank : {ends_.lower, ends_.upper})
    if (rank >= 0) ranks.push_back(rank);
  return ranks;
}

EdgeLinks::EdgeLinks(const Communicator& communicator, const Grid& grid, std::int64_t row_bytes)
    : communicator_(communicator),
      ends_(ends_of(grid)),
      edge_bytes_(bytes_of_edge(row_bytes)),
      watch_(communicator,
             [ends = ends_](int side) {
               return fmt::format("rank {} (edge {}y)", side == 0 ? ends.lower : ends.upper,
                                  side == 0 ? '-' : '+');
             }),
      edges_(communicator, 2 * edge_bytes_, peers(),
             std::vector<PeerWindow::Places>(peers().size())) {
  link();
  show_to_work();
}

void EdgeLinks::link() {
  std::byte* const mine = edges_.mine();
  // What a rank sends upwards comes from below, and the other way round.
  const auto from_below = [&](std::byte* window) { return reinterpret_cast<EdgeWords*>(window); };
  const auto from_above = [&](std::byte* window) {
    return reinterpret_cast<EdgeWords*>(window + edge_bytes_);
  };
  std::size_t p = 0;
  if (ends_.lower >= 0) port_.lower = {from_above(edges_.of(p++)), from_below(mine)};
  if (ends_.upper >= 0) port_.upper = {from_below(edges_.of(p++)), from_above(mine)};
  port_.watch = watch_.on_gpu();
}

/// Stores a pattern into the neighbours' memory and looks at what came here; leaves zeros.
void EdgeLinks::show_to_work() const {
  const auto pattern = [&](int rank, int end) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(edge_bytes_));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(rank) * 31 +
                                        static_cast<std::size_t>(end) * 101);
    return bytes;
  };
  enum { at_lower, at_upper };
  comm::together(communicator_, [&] {
    const int me = communicator_.rank();
    if (port_.lower.to != nullptr)
      device::copy(port_.lower.to, pattern(me, at_lower).data(), edge_bytes_, Stream::host());
    if (port_.upper.to != nullptr)
      device::copy(port_.upper.to, pattern(me, at_upper).data(), edge_bytes_, Stream::host());
  });
  comm::together(communicator_, [&] {
    for (const int end : {at_lower, at_upper}) {
      const int from = end == at_lower ? ends_.lower : ends_.upper;
      if (from < 0) continue;
      std::byte* const place = edges_.mine() + (end == at_lower ? 0 : edge_bytes_);
      std::vector<std::byte> came(static_cast<std::size_t>(edge_bytes_));
      device::copy(came.data(), place, edge_bytes_, Stream::host());
      if (came != pattern(from, end == at_lower ? at_upper : at_lower))
        throw Error(ErrorKind::communication,
                    fmt::format("the edge that rank {} stored into rank {}'s memory did not "
                                "arrive as sent",
                                from, communicator_.rank()));
      device::clear(place, edge_bytes_, Stream::host());
    }
  });
}

}  // namespace halocline::exchange
