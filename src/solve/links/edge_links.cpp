// SPDX-License-Identifier: Apache-2.0
#include "links/edge_links.hpp"

#include <fmt/format.h>

namespace halocline::links {
namespace {

using device::EdgeWords;

constexpr std::int64_t vector_bytes = 16;

std::int64_t bytes_of_edge(const Grid& grid, std::int64_t row_bytes) {
  const std::int64_t rows = grid.axes() == 3 ? grid.owned().extent().y : 1;
  return rows * ((row_bytes + vector_bytes - 1) / vector_bytes) * device::edge_pairs_per_vector *
         static_cast<std::int64_t>(sizeof(EdgeWords));
}

}  // namespace

std::optional<std::string> EdgeLinks::unavailable(const Communicator& communicator,
                                                  const Grid& grid) {
  if (communicator.node_count() > 1) return "the ranks are on several nodes";
  if (grid.axes() < 2) return "the grid has 1 axis, not 2 or 3";
  for (int axis = 0; axis + 1 < grid.axes(); ++axis)
    if (grid.process_grid()[axis] > 1)
      return fmt::format("ranks split the cells along {}", "xy"[axis]);
  return std::nullopt;
}

EdgeLinks::EdgeLinks(const Communicator& communicator, const Grid& grid, std::int64_t row_bytes)
    : EdgeLinks(EndNeighbours(communicator, grid), bytes_of_edge(grid, row_bytes)) {}

EdgeLinks::EdgeLinks(const EndNeighbours& neighbours, std::int64_t edge_bytes)
    : watch_(neighbours.watch("edge")),
      edges_(neighbours, 2 * edge_bytes, {0, edge_bytes, 0}),
      port_{.lower = side(at_lower), .upper = side(at_upper), .watch = watch_.on_gpu()} {
  edges_.show_to_work(edge_bytes);
}

device::EdgeSide EdgeLinks::side(End end) const {
  return {.to = reinterpret_cast<EdgeWords*>(edges_.to(end)),
          .from = reinterpret_cast<const EdgeWords*>(edges_.from(end))};
}

}  // namespace halocline::links
