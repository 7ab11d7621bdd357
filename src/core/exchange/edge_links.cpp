// SPDX-License-Identifier: Apache-2.0
#include "exchange/edge_links.hpp"

#include <cstddef>
#include <vector>

#include <fmt/format.h>

namespace halocline::exchange {
namespace {

using device::EdgeWords;
using link::Window;

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
    : neighbours_(communicator, grid),
      edge_bytes_(bytes_of_edge(grid, row_bytes)),
      watch_(communicator, "sweep {}",
             [neighbours = neighbours_](int end) {
               return neighbours.name_of(static_cast<End>(end), "edge");
             }),
      edges_(communicator, 2 * edge_bytes_, neighbours_.peers(),
             std::vector<Window::Offsets>(neighbours_.peers().size())),
      port_{.lower = side(at_lower), .upper = side(at_upper), .watch = watch_.on_gpu()} {
  // The addresses of a side are const for readers; this code writes.
  std::array<EndMemory, 2> memory;
  for (const End end : ends)
    memory[end] = {.to = (end == at_lower ? port_.lower : port_.upper).to,
                   .from = edges_.mine() + end * edge_bytes_};
  show_ends_to_work(communicator, neighbours_, memory, edge_bytes_);
}

/// Data that a rank sends upwards arrives from below, and vice versa.
device::EdgeSide EdgeLinks::side(End end) const {
  if (!neighbours_.has(end)) return {};
  std::byte* const theirs = edges_.of(neighbours_.peer_of(end));
  return {.to = reinterpret_cast<EdgeWords*>(theirs + opposite(end) * edge_bytes_),
          .from = reinterpret_cast<const EdgeWords*>(edges_.mine() + end * edge_bytes_)};
}

}  // namespace halocline::exchange
