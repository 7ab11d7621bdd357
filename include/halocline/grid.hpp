// SPDX-License-Identifier: Apache-2.0
#pragma once
// A global box of cells, split over ranks.

#include <array>
#include <initializer_list>
#include <vector>

#include <halocline/box.hpp>

namespace halocline {

class Communicator;

/// Cells or parts per axis, for 1, 2 or 3 axes, x first: {256, 128}.
class Extents {
 public:
  Extents() = default;
  Extents(std::initializer_list<std::int64_t> values);
  /// Takes the first `axes` values.
  Extents(const Int3& values, int axes);

  int axes() const { return axes_; }
  /// Returns the values, 1 along the axes beyond axes().
  const Int3& values() const { return values_; }
  std::int64_t operator[](int axis) const { return values_[axis]; }
  friend bool operator==(const Extents&, const Extents&) = default;

 private:
  Int3 values_{1, 1, 1};
  int axes_ = 0;
};

/// Halo widths in cells, per axis and side. A single number is the width on both sides of every
/// axis of the grid.
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
  /// Parts per axis, whose product must be the number of ranks. Empty: Grid chooses the process
  /// grid with the least halo traffic.
  Extents process_grid{};
  /// Halo widths, for each axis and side, that this choice assumes: no part is narrower than the
  /// halo that a neighbour fills from it. Also the halo of fields and the reach of sweeps that are
  /// given none.
  HaloWidths expected_halo = 1;
};

/// The offset to a neighbour: each component is -1, 0 or 1.
using Direction = Int3;

/// The neighbours to exchange halos with: those across faces only, or those across edges and
/// corners too.
enum class Neighbours { faces, all };

/// The split of a box of cells over ranks: plain data, the same on every rank, which any thread may
/// read. Ranks count fastest along x. In uneven splits, the first parts have one cell more.
class Grid {
 public:
  /// Splits the cells over the ranks of `communicator`. Not collective, but every rank must give
  /// the same options, which the constructor of Exchange checks. Keeps no reference to the
  /// communicator. Throws usage if a part would be empty, a width is negative or the process grid
  /// does not match the number of ranks.
  Grid(const Communicator& communicator, const GridOptions& options);
  /// Splits the cells as rank `rank` of `ranks`, without MPI: to plan or test a split.
  Grid(int rank, int ranks, const GridOptions& options);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  int axes() const { return cells_.axes(); }
  const Extents& cells() const { return cells_; }
  const Extents& process_grid() const { return process_grid_; }
  bool periodic(int axis) const { return periodic_[static_cast<std::size_t>(axis)]; }
  /// Returns the widths of the option, 0 along the axes beyond axes().
  const HaloWidths& expected_halo() const { return expected_halo_; }

  /// Returns the cells that this rank updates, in global coordinates.
  const Box& owned() const { return owned_; }
  Box owned(int rank) const;
  /// Returns the owned cells that can be updated before the halo arrives: every neighbour
  /// within `reach` cells is owned too or lies beyond an edge of the domain where no rank is.
  Box interior(const HaloWidths& reach) const;
  Box interior() const { return interior(expected_halo_); }
  /// Returns the other owned cells, as at most six disjoint boxes, to update after the halo
  /// arrived.
  std::vector<Box> boundary(const HaloWidths& reach) const;
  std::vector<Box> boundary() const { return boundary(expected_halo_); }

  /// Returns the coordinates of a rank in the process grid.
  Int3 place_of(int rank) const;
  /// Returns the neighbour of `rank` in that direction: -1 at the edge of the domain; `rank` itself
  /// if a periodic axis has one part.
  int neighbour(int rank, Direction direction) const;

 private:
  int rank_, ranks_;
  Extents cells_, process_grid_;
  std::array<bool, 3> periodic_;
  HaloWidths expected_halo_;
  Box owned_;
};

}  // namespace halocline
