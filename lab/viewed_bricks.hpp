// SPDX-License-Identifier: Apache-2.0
#pragma once
// Halos of bricks without packing: the bricks that go to a neighbour are whole pages, which are
// mapped a second time, one behind the other.

#include <cstddef>
#include <vector>

#include "bench/halo_ways.hpp"
#include "grid/halo_regions.hpp"
#include "solver/engine/levels.hpp"

namespace halocline::bench {

/// The bricks of a field that go to a neighbour, and those that come from it.
struct ViewedBricks {
  grid::HaloRegion region;
  int field;  ///< its number among those that are exchanged
  const FieldStorage* storage;
  std::vector<Run> sent, received;  ///< ranges of whole bricks; may be none
};

std::vector<ViewedBricks> viewed_bricks(const solver::Runner& runner, const solver::Level& level);

/// Counts what of these goes from this rank to others: messages, bytes and pieces.
void count(HaloMover& mover, const solver::Runner& runner, const std::vector<ViewedBricks>& bricks);

/// The way that the laboratory adds to those of `bench layout`.
const HaloWay& mapped_views();
/// The mover for GPUs of one node, which copy to the neighbours' pages.
std::unique_ptr<HaloMover> move_views_of_gpus(solver::Runner& runner);
std::optional<std::string> why_no_views_of_gpus(const WayPlace& place);

}  // namespace halocline::bench
