// SPDX-License-Identifier: Apache-2.0
#include "lab/viewed_bricks.hpp"

#include "bench/byte_ranges.hpp"

namespace halocline::bench {

std::vector<ViewedBricks> viewed_bricks(const solver::Runner& runner, const solver::Level& level) {
  const Grid& grid = runner.exchange_grid();
  const solver::Case& the_case = runner.the_case();
  std::vector<ViewedBricks> all;
  int number = 0;
  for (const std::size_t f : the_case.exchanged_fields()) {
    const FieldStorage& field = level[f];
    const std::int64_t brick = field.as_bricks()->brick_step.x * field.shape().element_bytes;
    for (const grid::HaloRegion& region :
         grid::halo_regions(grid, grid.rank(), the_case.halo(), the_case.neighbours()))
      all.push_back({.region = region,
                     .field = number,
                     .storage = &field,
                     .sent = ranges_of(field, {region.send}, brick),
                     .received = ranges_of(field, {region.receive}, brick)});
    ++number;
  }
  return all;
}

void count(HaloMover& mover, const solver::Runner& runner,
           const std::vector<ViewedBricks>& bricks) {
  for (const ViewedBricks& of : bricks) {
    if (of.region.peer == runner.exchange_grid().rank() || of.sent.empty()) continue;
    ++mover.messages;
    mover.bytes += bytes_of(of.sent);
    mover.pieces += std::ssize(of.sent);
  }
}

}  // namespace halocline::bench
