// SPDX-License-Identifier: Apache-2.0
#pragma once
// A global box of cells, split over ranks.

#include <array>
#include <initializer_list>
#include <vector>

#include <halocline/box.hpp>

namespace halocline {

class Communicator;

/// Cells or parts per axis for 1, 2 or 3 axes, x first: {256, 128}.
class Extents {
 public:
  Extents() = default;
  Extents(std::initializer_list<std::int64_t> values);
  /// Takes the first `axes` values.
  Extents(const Int3& values, int axes);

  int axes() const { return axes_; }
  /// 1 along axes that are not there.
  const Int3& values() const { return values_; }
  std::int64_t operator[](int axis) const { return values_[axis]; }
  friend bool operator==(const Extents&, const Extents&) = default;

 private:
  Int3 values_{1, 1, 1};
  int axes_ = 0;
};

/// Halo widths in cells, per axis and side. One number means that width on every side of every
/// axis the grid has.
struct HaloWidths {
  Int3 lower, upper;

  HaloWidths() = default;
  HaloWidths(std::int64_t all)
      : lower{all, all, all}, upper{all, all, all} {}  // NOLINT: 1 is a width
  HaloWidths(const Int3& lower_sides, const Int3& upper_sides)
      : lower(lower_sides), upper(upper_sides) {}
  friend bool operator==(const HaloWidths&, const HaloWidths&) = default;
};

struct GridOptions {
  Extents cells;
  std::array<bool, 3> periodic{};
  /// Parts per axis; their product must be the number of ranks. Empty: chosen for least traffic.
  Extents process_grid{};
  /// What the automatic choice assumes about halo widths.
  HaloWidths expected_halo = 1;
};

/// One of the 27 offsets to a neighbour, each component -1, 0 or 1.
using Direction = Int3;

/// How a box of cells is split over ranks: pure data, the same on every rank. Ranks count
/// fastest along x. Uneven splits give the first parts one cell more.
class Grid {
 public:
  /// Splits the cells over the ranks of `communicator`. Throws usage if a part would be empty or
  /// the process grid does not match. Not collective, but every rank must give the same options
  /// (an Exchange checks that). Keeps no reference to the communicator.
  Grid(const Communicator& communicator, const GridOptions& options);
  /// The same without a communicator, as rank `rank` of `ranks`: to plan or test a split without
  /// MPI.
  Grid(int rank, int ranks, const GridOptions& options);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  int axes() const { return cells_.axes(); }
  const Extents& cells() const { return cells_; }
  const Extents& process_grid() const { return process_grid_; }
  bool periodic(int axis) const { return periodic_[static_cast<std::size_t>(axis)]; }

  /// The cells this rank updates, in global coordinates.
  const Box& owned() const { return owned_; }
  Box owned(int rank) const;
  /// Owned cells whose neighbours within `reach` cells are owned too, or lie outside the domain
  /// where no rank is: they can be updated before a halo arrives.
  Box interior(const HaloWidths& reach = 1) const;
  /// The other owned cells, as disjoint boxes: to be updated once the halo has arrived.
  std::vector<Box> boundary(const HaloWidths& reach = 1) const;

  /// Coordinates of a rank in the process grid.
  Int3 place_of(int rank) const;
  /// The rank in that direction, or -1 at the edge of the domain. May be this rank itself.
  int neighbour(int rank, Direction direction) const;

 private:
  int rank_, ranks_;
  Extents cells_, process_grid_;
  std::array<bool, 3> periodic_;
  Box owned_;
};

}  // namespace halocline
