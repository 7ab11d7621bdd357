// SPDX-License-Identifier: Apache-2.0
#include "stencil/cuda/passes/division.hpp"

#include <algorithm>
#include <limits>

#include "stencil/partial_norms.hpp"

namespace halocline::stencil::cuda {
namespace {

/// Beyond an end of the domain tiles need ghosts alone.
RowTiles tiles_of(const LayersOfPass& layers, const PassForm& form, const RegionOfPass& region) {
  if (layers.axes == 2) return {.count = 1, .begin = 0, .own = 0, .lost = 0, .rows = 1};
  const int lost = form.sweeps * layers.over, all = form.rows * form.warps;
  const int below = region.has_below ? lost : layers.over;
  const int above = region.has_above ? lost : layers.over;
  const int own = all - 2 * lost;
  const std::int64_t others = std::max<std::int64_t>(below + region.rows + above - all, 0);
  return {.count = static_cast<int>(1 + (others + own - 1) / own),
          .begin = -below,
          .own = own,
          .lost = lost,
          .rows = static_cast<int>(region.rows)};
}

WalksOfPass walks_of(const LayersOfPass& layers, const PassForm& form, const RegionOfPass& region) {
  const int lost = lost_lanes(form.sweeps, layers.beside, form.cells);
  const std::int64_t own = (warp_lanes - 2 * lost) * form.cells;
  const std::int64_t strips = (region.columns + own - 1) / own;
  const std::int64_t of_last = region.columns - (strips - 1) * own;
  const int lanes = static_cast<int>((of_last + form.cells - 1) / form.cells) + 2 * lost;
  const RowTiles tiles = tiles_of(layers, form, region);
  return {.strips = static_cast<int>(strips),
          .layers = static_cast<int>(region.layers),
          .parts = 1,
          .tiles = tiles,
          .abreast = std::min(warp_lanes / lanes, tiles.count),
          .lanes = lanes};
}

}  // namespace

std::int64_t fewest_walks(const LayersOfPass& layers, const PassForm& form,
                          const RegionOfPass& region) {
  return walks_beside(walks_of(layers, form, region));
}

// Walks begin with layers that others store, so few long ones compute least; but those at the sides
// of the domain take longer, and hold up the others least where they are shorter or there are
// several turns: laplace on 16384x16384 cells in fp32 ran at 2235 GLUP/s in one turn and at 2512 in
// four, 4096x4096 were slower in two than in one.
Division division_of(const LayersOfPass& layers, const SideWalks& sides, const PassForm& form,
                     const RegionOfPass& region, std::int64_t at_once) {
  constexpr std::int64_t most_turns = 6;
  const std::int64_t all = region.layers;
  WalksOfPass walks = walks_of(layers, form, region);
  const int without_parts = walks_beside(walks);
  const int in_block = walks_of_block(form, layers.axes);
  // In 3-D a block takes some time to begin, and all checks at the ends of the domain.
  const std::int64_t to_begin = layers.axes == 3 ? 4 : 0;
  const std::int64_t extra = form.sweeps * (layers.lag + layers.behind) + form.ahead + to_begin;
  const int most_parts = walks.strips > 1 ? sides.most_parts : 1;
  Division best{.walks = {}, .blocks = 0, .cost = std::numeric_limits<double>::max()};
  const auto consider = [&](std::int64_t of_piece, int parts) {
    walks.layers = static_cast<int>(of_piece);
    walks.parts = parts;
    const std::int64_t count = walks_beside(walks) * ((all + of_piece - 1) / of_piece);
    const std::int64_t turns = (count + at_once - 1) / at_once;
    const auto of_walk = static_cast<double>(of_piece + extra);
    const std::int64_t layers_at_sides = of_piece / parts + extra;
    const double last = std::max(of_walk, sides.as_long * static_cast<double>(layers_at_sides));
    const double cost = static_cast<double>(turns - 1) * of_walk + last;
    // There is room for the partial norms of so many.
    if (cost >= best.cost || count > most_blocks_of_pass * in_block) return;
    best = {.walks = walks, .blocks = (count + in_block - 1) / in_block, .cost = cost};
  };
  consider(all, 1);
  for (std::int64_t turns = 1; turns <= most_turns; ++turns)
    for (int parts = 1; parts <= most_parts; ++parts) {
      const std::int64_t beside = without_parts + 2 * (parts - 1);
      const std::int64_t pieces = std::clamp<std::int64_t>(turns * at_once / beside, 1, all);
      consider((all + pieces - 1) / pieces, parts);
    }
  return best;
}

}  // namespace halocline::stencil::cuda
