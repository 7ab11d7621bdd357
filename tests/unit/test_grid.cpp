// SPDX-License-Identifier: Apache-2.0
// How cells are split over ranks, who is whose neighbour, and which cells they swap.

#include <map>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/grid.hpp>

#include "grid/decomposition.hpp"
#include "grid/halo_regions.hpp"
#include "grid/text.hpp"
#include "support/caught.hpp"
#include "support/cells.hpp"

namespace halocline {
namespace {

using test::Caught;
using test::caught;
using test::for_each_cell;
using testing::AllOf;
using testing::HasSubstr;

GridOptions options_of(const Extents& cells, const Extents& process_grid = {},
                       const std::array<bool, 3>& periodic = {}) {
  GridOptions options;
  options.cells = cells;
  options.periodic = periodic;
  options.process_grid = process_grid;
  return options;
}

/// The boxes share no cell, and together they are the cells of `whole` that `belongs` takes.
template <class Belongs>
void expect_exactly(const std::vector<Box>& boxes, const Box& whole, const Belongs& belongs) {
  for_each_cell(whole, [&](Int3 at) {
    int times = 0;
    for (const Box& box : boxes) times += box.contains(at) ? 1 : 0;
    ASSERT_EQ(times, belongs(at) ? 1 : 0) << at.x << "," << at.y << "," << at.z;
  });
  for (const Box& box : boxes) EXPECT_TRUE(whole.contains(box));
}

TEST(PartOf, GivesTheFirstPartsOneCellMore) {
  const std::int64_t starts[] = {0, 4, 7, 10};
  for (std::int64_t part = 0; part < 3; ++part) {
    EXPECT_EQ(grid::part_of(10, 3, part).lower, starts[part]);
    EXPECT_EQ(grid::part_of(10, 3, part).upper, starts[part + 1]);
  }
}

TEST(PartOf, HoldsPastThirtyTwoBits) {
  const std::int64_t cells = (std::int64_t{1} << 40) + 5;
  EXPECT_EQ(grid::part_of(cells, 7, 6).upper, cells);
  EXPECT_EQ(grid::part_of(cells, 7, 0).lower, 0);
}

TEST(Grid, GivesEveryCellToOneRank) {
  for (const Extents& cells : {Extents{17}, Extents{9, 7}, Extents{6, 5, 7}})
    for (const int ranks : {1, 2, 3, 4, 6, 8}) {
      std::vector<Box> owned;
      for (int rank = 0; rank < ranks; ++rank) {
        const Grid grid(rank, ranks, options_of(cells));
        EXPECT_EQ(grid.owned(), grid.owned(rank));
        owned.push_back(grid.owned());
      }
      expect_exactly(owned, {{0, 0, 0}, cells.values()}, [](Int3) { return true; });
    }
}

TEST(Grid, CountsRanksFastestAlongX) {
  const Grid grid(0, 24, options_of({8, 9, 8}, {2, 3, 4}));
  EXPECT_EQ(grid.place_of(0), (Int3{0, 0, 0}));
  EXPECT_EQ(grid.place_of(1), (Int3{1, 0, 0}));
  EXPECT_EQ(grid.place_of(2), (Int3{0, 1, 0}));
  EXPECT_EQ(grid.place_of(23), (Int3{1, 2, 3}));
  EXPECT_EQ(grid.owned(23), (Box{{4, 6, 6}, {8, 9, 8}}));
}

TEST(Grid, FindsNeighbours) {
  const Grid grid(0, 6, options_of({9, 9}, {3, 2}));
  // 3 4 5
  // 0 1 2
  EXPECT_EQ(grid.neighbour(1, {1, 0, 0}), 2);
  EXPECT_EQ(grid.neighbour(1, {-1, 1, 0}), 3);
  EXPECT_EQ(grid.neighbour(1, {0, -1, 0}), -1);
  EXPECT_EQ(grid.neighbour(2, {1, 1, 0}), -1);
  EXPECT_EQ(grid.neighbour(4, {0, 0, 1}), -1);
}

TEST(Grid, WrapsAroundPeriodicAxes) {
  const Grid grid(0, 6, options_of({9, 9}, {3, 2}, {true, false, false}));
  EXPECT_EQ(grid.neighbour(0, {-1, 0, 0}), 2);
  EXPECT_EQ(grid.neighbour(0, {-1, 1, 0}), 5);
  EXPECT_EQ(grid.neighbour(0, {-1, -1, 0}), -1);
  const Grid alone(0, 1, options_of({9, 9}, {1, 1}, {true, true, false}));
  EXPECT_EQ(alone.neighbour(0, {1, -1, 0}), 0);
}

TEST(Grid, IsNotPeriodicAlongAxesThatAreNotThere) {
  const Grid grid(0, 1, options_of({9}, {1}, {true, true, true}));
  EXPECT_TRUE(grid.periodic(0));
  EXPECT_FALSE(grid.periodic(1));
  EXPECT_FALSE(grid.periodic(2));
}

TEST(Grid, SplitsOwnedCellsIntoInteriorAndBoundary) {
  for (const bool periodic : {false, true})
    for (const Extents& process_grid : {Extents{2, 3}, Extents{1, 6}, Extents{1, 1}, Extents{3, 3}})
      for (const HaloWidths& reach :
           {HaloWidths(1), HaloWidths(3), HaloWidths({0, 1, 0}, {2, 0, 0})}) {
        const int ranks = static_cast<int>(process_grid[0] * process_grid[1]);
        for (int rank = 0; rank < ranks; ++rank) {
          const Grid grid(rank, ranks, options_of({13, 11}, process_grid, {false, periodic}));
          // A cell is of the interior if no rank's cell but our own can be within reach.
          const auto waits = [&](Int3 at) {
            for (int axis = 0; axis < 2; ++axis) {
              Direction down, up;
              down[axis] = -1;
              up[axis] = 1;
              if (grid.neighbour(rank, down) >= 0 &&
                  at[axis] - reach.lower[axis] < grid.owned().lower[axis])
                return true;
              if (grid.neighbour(rank, up) >= 0 &&
                  at[axis] + reach.upper[axis] >= grid.owned().upper[axis])
                return true;
            }
            return false;
          };
          expect_exactly({grid.interior(reach)}, grid.owned(), [&](Int3 at) { return !waits(at); });
          expect_exactly(grid.boundary(reach), grid.owned(), waits);
        }
      }
}

TEST(Grid, TakesTheReachThatItExpectsWhereNoneIsGiven) {
  GridOptions options = options_of({32, 24}, {2, 2}, {true, true});
  options.expected_halo = HaloWidths({2, 0, 9}, {1, 3, 9});
  const Grid grid(1, 4, options);
  EXPECT_EQ(grid.expected_halo(), HaloWidths({2, 0, 0}, {1, 3, 0})) << "it has two axes";
  EXPECT_EQ(grid.interior(), grid.interior(HaloWidths({2, 0, 0}, {1, 3, 0})));
  EXPECT_EQ(grid.boundary(), grid.boundary(HaloWidths({2, 0, 0}, {1, 3, 0})));
  EXPECT_EQ(Grid(0, 2, options_of({8})).interior(), Grid(0, 2, options_of({8})).interior(1));
  options.expected_halo = HaloWidths({1, 1, 0}, {1, -2, 0});
  EXPECT_EQ(caught([&] { Grid(1, 4, options); }).text,
            "option 'expected_halo' is -2 along y; a width is at least 0");
}

Extents chosen(int ranks, const Extents& cells, std::int64_t halo = 1) {
  GridOptions options = options_of(cells);
  options.expected_halo = halo;
  return Grid(0, ranks, options).process_grid();
}

TEST(ProcessGrid, IsChosenForLeastTraffic) {
  EXPECT_EQ(chosen(1, {100, 100}), (Extents{1, 1}));
  EXPECT_EQ(chosen(7, {100}), (Extents{7}));
  EXPECT_EQ(chosen(8, {64, 64, 64}), (Extents{1, 2, 4})) << "faces along x cost twice as much";
  EXPECT_EQ(chosen(512, {64, 64, 64}), (Extents{4, 8, 16}));
  EXPECT_EQ(chosen(4, {10, 1000, 10}), (Extents{1, 4, 1}));
  EXPECT_EQ(chosen(5, {100, 100}), (Extents{1, 5})) << "a prime number of slabs";
}

TEST(ProcessGrid, PrefersContiguousFaces) {
  EXPECT_EQ(chosen(2, {100, 100}), (Extents{1, 2}));
  EXPECT_EQ(chosen(2, {100, 100, 100}), (Extents{1, 1, 2}));
  EXPECT_EQ(chosen(4, {100, 100, 100}), (Extents{1, 1, 4})) << "slabs if they cost no more";
}

TEST(ProcessGrid, LeavesRoomForTheHalo) {
  EXPECT_EQ(chosen(4, {10, 6}, 1), (Extents{1, 4}));
  EXPECT_EQ(chosen(4, {10, 6}, 2), (Extents{2, 2})) << "a part of 1 or 2 cells would be too thin";
}

TEST(ProcessGrid, LeavesRoomForTheHaloOfEachAxisAndSide) {
  GridOptions options = options_of({17, 13, 16});
  const HaloWidths halo({0, 0, 0}, {0, 0, 3});
  EXPECT_TRUE(caught([&] { grid::check_widths(Grid(0, 7, options), halo); }).kind);
  options.expected_halo = halo;
  const Grid grid(0, 7, options);
  EXPECT_FALSE(caught([&] { grid::check_widths(grid, halo); }).kind);

  // Parts of 3, 3 and 2 cells: only the last is too narrow for a halo of 3, and at the edge of the
  // domain no halo is filled from it, unless the axis is periodic.
  options = options_of({8});
  options.expected_halo = HaloWidths({3, 0, 0}, {0, 0, 0});
  EXPECT_EQ(Grid(0, 3, options).process_grid(), (Extents{3}));
  options.expected_halo = HaloWidths({0, 0, 0}, {3, 0, 0});
  EXPECT_EQ(caught([&] { Grid(0, 3, options); }).kind, ErrorKind::usage);
  options = options_of({8}, {}, {true, false, false});
  options.expected_halo = HaloWidths({3, 0, 0}, {0, 0, 0});
  EXPECT_EQ(caught([&] { Grid(0, 3, options); }).kind, ErrorKind::usage);
}

TEST(ProcessGrid, FitsTheExpectedHaloExactlyIfItIsChosen) {
  for (int ranks = 1; ranks <= 12; ++ranks)
    for (const Extents& cells : {Extents{11}, Extents{7, 9}, Extents{5, 6, 13}})
      for (const bool periodic : {false, true})
        for (const HaloWidths& halo :
             {HaloWidths(1), HaloWidths({2, 0, 1}, {0, 3, 4}), HaloWidths({0, 4, 0}, {1, 0, 2})}) {
          GridOptions options = options_of(cells, {}, {periodic, !periodic, periodic});
          options.expected_halo = halo;
          // All splits, by brute force.
          std::set<std::string> fitting, listed;
          for (std::int64_t x = 1; x <= ranks; ++x)
            for (std::int64_t y = 1; y <= ranks; ++y)
              for (std::int64_t z = 1; z <= ranks; ++z) {
                const Extents parts(Int3{x, y, z}, cells.axes());
                const Int3& p = parts.values();
                if (x * y * z != ranks || !(p == Int3{x, y, z})) continue;
                if (x > cells[0] || (cells.axes() > 1 && y > cells[1]) ||
                    (cells.axes() > 2 && z > cells[2]))
                  continue;
                options.process_grid = parts;
                const Grid grid(0, ranks, options);
                if (!caught([&] { grid::check_widths(grid, halo); }).kind)
                  fitting.insert(grid::text_of(parts));
              }
          options.process_grid = {};
          for (const Extents& parts : grid::process_grids(ranks, options))
            listed.insert(grid::text_of(parts));
          EXPECT_EQ(listed, fitting) << ranks << " ranks, cells " << grid::text_of(cells);
        }
}

TEST(ProcessGrid, IsListedWithAllOthersLeastTrafficFirst) {
  const auto grids = [](int ranks, const Extents& cells) {
    GridOptions options = options_of(cells);
    options.expected_halo = 1;
    std::string text;
    for (const Extents& grid : grid::process_grids(ranks, options))
      text += grid::text_of(grid) + " ";
    return text;
  };
  EXPECT_EQ(grids(4, {100, 100}), "1x4 2x2 4x1 ");
  EXPECT_EQ(grids(3, {8}), "3 ");
  EXPECT_EQ(grids(4, {64, 64, 64}), "1x1x4 1x2x2 1x4x1 2x1x2 2x2x1 4x1x1 ");
  EXPECT_EQ(grids(4, {100, 3}), "4x1 2x2 ");
  EXPECT_EQ(grids(4, {1, 3}), "");
}

TEST(ProcessGrid, SaysHowManyRanksFit) {
  const Caught error = caught([] { Grid(0, 20, options_of({3, 3})); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_EQ(error.text,
            "3x3 cells cannot be split over 20 ranks: every rank needs at least 1 cell along "
            "each split axis; use at most 9 ranks");
  GridOptions options = options_of({9});
  options.expected_halo = 2;
  EXPECT_THAT(caught([&] { Grid(0, 5, options); }).text,
              AllOf(HasSubstr("use at most 4 ranks"), HasSubstr("as wide as the halo")));
  options = options_of({9, 4});
  options.expected_halo = HaloWidths({4, 1, 0}, {0, 1, 0});
  EXPECT_THAT(caught([&] { Grid(0, 11, options); }).text,
              AllOf(HasSubstr("4 cells along x and 1 cell along y"), HasSubstr("most 8 ranks")));
}

TEST(ProcessGrid, MustMatchTheRanks) {
  const auto text = [](int ranks, const Extents& cells, const Extents& process_grid) {
    const Caught error = caught([&] { Grid(0, ranks, options_of(cells, process_grid)); });
    EXPECT_EQ(error.kind, ErrorKind::usage);
    return error.text;
  };
  EXPECT_EQ(text(6, {8, 8}, {2, 2}),
            "the process grid 2x2 is for 4 ranks, but there are 6; give a process grid whose "
            "product is 6, or start 4 ranks");
  EXPECT_EQ(text(4, {8, 8}, {4}), "the process grid 4 has 1 axis, but the grid of 8x8 cells has 2");
  EXPECT_THAT(text(4, {8, 3}, {1, 4}),
              AllOf(HasSubstr("process grid 1x4"), HasSubstr("4 parts along y"),
                    HasSubstr("only 3 cells"), HasSubstr("at most one part per cell")));
  EXPECT_THAT(text(4, {8, 8}, {-2, -2}), HasSubstr("at least 1 part"));
  const std::int64_t big = std::int64_t{1} << 32;
  EXPECT_THAT(text(1, {8, 8}, {big, big}), HasSubstr("but there are 1")) << "a product past 2^63";
}

TEST(Grid, SaysWhatIsWrongWithItsCells) {
  EXPECT_THAT(caught([] { Grid(0, 1, GridOptions()); }).text, HasSubstr("a grid needs cells"));
  EXPECT_EQ(caught([] {
              Grid(0, 1, options_of({8, 0}));
            }).text,
            "0 cells along y: at least 1 is needed");
  EXPECT_THAT(caught([] { Grid(3, 3, options_of({8})); }).text,
              AllOf(HasSubstr("rank 3"), HasSubstr("3 ranks")));
  const std::int64_t big = std::int64_t{1} << 22;
  EXPECT_EQ(caught([&] { Grid(0, 1, options_of({big, big, big})); }).kind, ErrorKind::usage);
  EXPECT_EQ(caught([] { Extents({1, 2, 3, 4}); }).kind, ErrorKind::usage);
}

/// Every cell that should lie in some receive box, from the definition alone: held, not owned,
/// and, axes folded, a cell of the domain.
bool is_halo(const Grid& grid, Int3 at) {
  for (int axis = 0; axis < 3; ++axis)
    if ((at[axis] < 0 || at[axis] >= grid.cells()[axis]) && !grid.periodic(axis)) return false;
  return !grid.owned().contains(at);
}

/// The cell of the domain that a halo cell images.
Int3 imaged(const Grid& grid, Int3 at) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t cells = grid.cells()[axis];
    at[axis] = (at[axis] % cells + cells) % cells;
  }
  return at;
}

void expect_regions_by_formula(const GridOptions& options, int ranks, const HaloWidths& widths) {
  std::map<std::pair<int, int>, std::vector<grid::HaloRegion>> regions;
  for (int rank = 0; rank < ranks; ++rank) {
    const Grid grid(rank, ranks, options);
    HaloWidths there = widths;
    for (int axis = grid.axes(); axis < 3; ++axis) there.lower[axis] = there.upper[axis] = 0;
    std::vector<Box> received;
    int last = -1;
    for (const grid::HaloRegion& region : grid::halo_regions(grid, rank, there, Neighbours::all)) {
      EXPECT_GT(grid::direction_index(region.direction), last) << "in order of direction";
      last = grid::direction_index(region.direction);
      received.push_back(region.receive);
      EXPECT_TRUE(grid.owned().contains(region.send));
      // What is received is the sender's, cell by cell.
      for_each_cell(region.receive, [&](Int3 at) {
        EXPECT_TRUE(grid.owned(region.peer).contains(imaged(grid, at)));
      });
      regions[{rank, last}].push_back(region);
    }
    expect_exactly(received, grow(grid.owned(), there.lower, there.upper),
                   [&](Int3 at) { return is_halo(grid, at); });
  }
  // What one side sends towards a direction is what the other receives from the opposite one.
  for (const auto& [key, list] : regions) {
    const grid::HaloRegion& region = list.front();
    const auto opposite = regions.find({region.peer, 26 - key.second});
    ASSERT_NE(opposite, regions.end());
    const grid::HaloRegion& other = opposite->second.front();
    EXPECT_EQ(other.peer, key.first);
    EXPECT_EQ(region.send.extent(), other.receive.extent());
    const Grid grid(key.first, ranks, options);
    if (!region.send.empty()) {
      EXPECT_EQ(imaged(grid, other.receive.lower), region.send.lower);
    }
  }
}

TEST(HaloRegions, CoverTheHaloByFormula) {
  for (const HaloWidths& widths : {HaloWidths(1), HaloWidths(2), HaloWidths({1, 0, 2}, {2, 1, 0})})
    for (const bool periodic : {false, true}) {
      const std::array<bool, 3> wraps{periodic, !periodic, periodic};
      expect_regions_by_formula(options_of({11}, {4}, wraps), 4, widths);
      expect_regions_by_formula(options_of({7, 8}, {3, 2}, wraps), 6, widths);
      expect_regions_by_formula(options_of({6, 5, 7}, {2, 1, 3}, wraps), 6, widths);
      expect_regions_by_formula(options_of({4, 4, 4}, {2, 2, 2}, {true, true, true}), 8, widths);
      expect_regions_by_formula(options_of({4, 4, 4}, {1, 1, 1}, wraps), 1, widths);
    }
}

TEST(HaloRegions, LeaveOutEdgesAndCornersForFaces) {
  const Grid grid(0, 8, options_of({4, 4, 4}, {2, 2, 2}, {true, true, true}));
  EXPECT_EQ(grid::halo_regions(grid, 0, 1, Neighbours::faces).size(), 6U);
  EXPECT_EQ(grid::halo_regions(grid, 0, 1, Neighbours::all).size(), 26U);
  const Grid flat(0, 4, options_of({4, 4}, {2, 2}, {true, true}));
  EXPECT_EQ(grid::halo_regions(flat, 0, 1, Neighbours::all).size(), 8U);
}

TEST(HaloRegions, ListNeighboursOfWidthZeroToo) {
  const Grid grid(0, 2, options_of({8}, {2}));
  const auto regions =
      grid::halo_regions(grid, 0, HaloWidths({1, 0, 0}, {0, 0, 0}), Neighbours::all);
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_TRUE(regions[0].receive.empty());
  EXPECT_EQ(regions[0].send, (Box{{3, 0, 0}, {4, 1, 1}}));
}

TEST(Directions, HaveNumbersAndNames) {
  EXPECT_EQ(grid::direction_index({-1, -1, -1}), 0);
  EXPECT_EQ(grid::direction_index({0, 0, 0}), 13);
  EXPECT_EQ(grid::direction_index({1, 1, 1}), 26);
  EXPECT_EQ(grid::direction_name({-1, 0, 1}), "-x+z");
  std::set<int> all;
  for_each_cell({{-1, -1, -1}, {2, 2, 2}}, [&](Int3 d) { all.insert(grid::direction_index(d)); });
  EXPECT_EQ(all.size(), 27U);
}

TEST(CheckWidths, NamesTheRankWhoseCellsAreTooFew) {
  // Along z: 3 2 2 2 2 2 cells.
  const Grid grid(0, 6, options_of({4, 4, 13}, {1, 1, 6}));
  EXPECT_FALSE(caught([&] { grid::check_widths(grid, 2); }).kind);
  const Caught error = caught([&] { grid::check_widths(grid, 3); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_EQ(error.text,
            "halo width 3 exceeds the 2 cells that rank 1 owns along z; use at most 4 ranks "
            "along z");
}

TEST(CheckWidths, NamesAProcessGridThatFits) {
  const HaloWidths halo({0, 0, 0}, {0, 0, 3});
  const Grid grid(0, 7, options_of({17, 13, 16}, {1, 1, 7}));
  const std::string text = caught([&] { grid::check_widths(grid, halo, "'u'"); }).text;
  EXPECT_THAT(text, AllOf(HasSubstr("width 3 of field 'u'"), HasSubstr("2 cells that rank 2 owns"),
                          HasSubstr("along z"), HasSubstr("process grid 1x7x1"),
                          HasSubstr("option 'expected_halo'")));
  const Grid fitting(0, 7, options_of({17, 13, 16}, {1, 7, 1}));
  EXPECT_FALSE(caught([&] { grid::check_widths(fitting, halo, "'u'"); }).kind);
}

TEST(CheckWidths, LooksOnlyWhereThereIsANeighbour) {
  EXPECT_FALSE(caught([] { grid::check_widths(Grid(0, 1, options_of({3})), 9); }).kind);
  const Grid periodic(0, 1, options_of({3}, {1}, {true, false, false}));
  EXPECT_FALSE(caught([&] { grid::check_widths(periodic, 3); }).kind);
  EXPECT_EQ(caught([&] { grid::check_widths(periodic, 4); }).text,
            "halo width 4 exceeds the 3 cells that rank 0 owns along x; use a width of at most 3");
}

TEST(CheckWidths, RefusesNegativeWidths) {
  const Grid grid(0, 1, options_of({3, 3}));
  EXPECT_EQ(caught([&] {
              grid::check_widths(grid, HaloWidths({0, -2, 0}, {0, 1, 0}));
            }).text,
            "halo width -2 along y is negative");
}

}  // namespace
}  // namespace halocline
