// SPDX-License-Identifier: Apache-2.0
// The shapes of passes of several sweeps, and how they divide a region. Needs no GPU.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stencil/cuda/passes/division.hpp"
#include "stencil/cuda/passes/shapes.hpp"
#include "support/models.hpp"

namespace halocline::stencil::cuda {
namespace {

using halocline::Norm;  // not that of kernels

TEST(Passes, StoreHalfOfTheColumnsThatTheyReadOrMore) {
  const auto most = [](const std::string& update) {
    const problem::Model model = test::model_of_text(
        "axes = 2\ncells = [40, 40]\n[fields.u]\ninitial = 0\nboundary = \"periodic\"\n[update]\n"
        "u = \"" +
        update + "\"\n[stop]\nsweeps = 1\n");
    return most_sweeps_of(model, print_update(model));
  };
  EXPECT_EQ(most("0.5*u[-1,0] + 0.5*u[1,0]"), 16);
  EXPECT_EQ(most("0.5*u[-3,0] + 0.5*u[1,0]"), 10);
  EXPECT_EQ(most("0.5*u[-8,0] + 0.5*u[1,0]"), 4);
}

PassForm form_of_star7(std::int64_t cells, int sweeps) {
  problem::Model model = test::built_in("star7", {}, {});
  model.precision = Precision::f32;
  return form_of(model, print_update(model), sweeps, Norm::none, {cells, cells, cells});
}

// 512^3 cells are 87 tiles of 26 rows or 78 of 30, those of the last strip 3 abreast; 256^3 are 22
// or 20, or 31 of 18 rows: of 132 multiprocessors 3 x 87 in two turns and 4 x 31 leave few without
// work.
TEST(Passes, TakeBlocksOfWhichEveryMultiprocessorHasSome) {
  const PassForm large = form_of_star7(512, 3), small = form_of_star7(256, 3);
  EXPECT_EQ(large.rows * large.warps, 32);
  EXPECT_EQ(small.rows * small.warps, 24);
}

// Counts how often walks store each lane's columns, row and layer of a region.
std::vector<int> stores(const WalksOfPass& walks, const RegionOfPass& region, int lost, int cells) {
  const std::int64_t columns = (region.columns + cells - 1) / cells;
  std::vector<int> counts(static_cast<std::size_t>(columns * region.rows * region.layers));
  const auto pieces = static_cast<int>((region.layers + walks.layers - 1) / walks.layers);
  for (int number = 0; number < walks_beside(walks) * pieces; ++number) {
    const WalkOfPass walk = walk_of_pass(walks, number);
    for (int l = 0; l < warp_lanes; ++l) {
      const LaneOfWalk at = lane_of_walk(walks, walk, l);
      if (at.lane < lost || at.lane >= at.lanes - lost) continue;
      const std::int64_t column = walk.strip * (warp_lanes - 2 * lost) + at.lane - lost;
      const RowsOfTile tile = rows_of_tile(walks.tiles, at.tile);
      const std::int64_t to = std::min<std::int64_t>(walk.to, region.layers);
      const std::int64_t to_row = std::min<std::int64_t>(tile.to, region.rows);
      if (column >= columns) continue;
      for (std::int64_t layer = walk.from; layer < to; ++layer)
        for (std::int64_t row = tile.from; row < to_row; ++row)
          ++counts[static_cast<std::size_t>((layer * region.rows + row) * columns + column)];
    }
  }
  return counts;
}

TEST(Passes, StoreEveryCellOnce) {
  std::mt19937 random(1);
  const auto up_to = [&](int most) { return static_cast<int>(random() % most) + 1; };
  for (int i = 0; i < 300; ++i) {
    problem::Model model = test::built_in(i % 2 == 0 ? "star7" : "jacobi", {}, {});
    const int sweeps = up_to(model.axes == 3 ? 3 : 8);
    model.cells = {up_to(600), up_to(100), up_to(100)};
    const PrintedUpdate update = print_update(model);
    const PassForm form = form_of(model, update, sweeps, Norm::max, model.cells);
    const RegionOfPass region{.columns = model.cells.x,
                              .rows = model.axes == 3 ? model.cells.y : 1,
                              .layers = up_to(100),
                              .has_below = random() % 2 == 0,
                              .has_above = random() % 2 == 0};
    const Division division =
        division_of(LayersOfPass(model, update), side_walks_of(model, update, sweeps), form, region,
                    up_to(500) * walks_of_block(form, model.axes));
    EXPECT_GT(division.blocks, 0);
    const int lost = lost_lanes(sweeps, 1, form.cells);
    for (const int count : stores(division.walks, region, lost, form.cells)) ASSERT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace halocline::stencil::cuda
