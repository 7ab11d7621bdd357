// SPDX-License-Identifier: Apache-2.0
#pragma once
// Access to a field in bricks from your own kernels and loops.
//
// Compiles as plain C++ and with nvcc, for host and device; not with NVRTC, which has no standard
// library.

#include <cstdint>
#include <type_traits>

#include <halocline/box.hpp>
#include <halocline/field_view.hpp>

namespace halocline {

/// The addressing of a field in bricks. A brick is a box of cells that lie together, x first,
/// then y, then z; the bricks follow each other in the same order, and the first owned cell begins
/// one. So the distance of a cell from the first owned one is a sum over the axes: along each,
/// whole bricks and the cells within the last.
struct Bricks {
  Int3 shift;       ///< a brick has 2^shift cells along the axis
  Int3 brick_step;  ///< elements from a brick to the next
  Int3 cell_step;   ///< elements from a cell to the next of its brick

  /// Returns the offset, in elements, of the cell `cells` away from the first owned one along each
  /// axis. Negative values lead into the halo.
  HALOCLINE_HOST_DEVICE constexpr std::int64_t place(Int3 cells) const {
    return along(shift.x, brick_step.x, cell_step.x, cells.x) +
           along(shift.y, brick_step.y, cell_step.y, cells.y) +
           along(shift.z, brick_step.z, cell_step.z, cells.z);
  }
  /// The same along one axis, on the host.
  constexpr std::int64_t place(int axis, std::int64_t cells) const {
    return along(shift[axis], brick_step[axis], cell_step[axis], cells);
  }
  /// Returns the cells of a brick.
  HALOCLINE_HOST_DEVICE constexpr Int3 cells() const {
    return {std::int64_t{1} << shift.x, std::int64_t{1} << shift.y, std::int64_t{1} << shift.z};
  }
  friend bool operator==(const Bricks&, const Bricks&) = default;

 private:
  static HALOCLINE_HOST_DEVICE constexpr std::int64_t along(std::int64_t shift,
                                                            std::int64_t brick_step,
                                                            std::int64_t cell_step,
                                                            std::int64_t cells) {
    return (cells >> shift) * brick_step + (cells & ((std::int64_t{1} << shift) - 1)) * cell_step;
  }
};

/// Addresses the values of a field in bricks by global coordinates, as FieldView does those of one
/// in rows. Pass it to kernels by value: it is trivially copyable and takes 104 bytes. It owns
/// nothing; the rules for FieldView's memory, threads and streams hold for it, too.
template <class T>
class BrickView {
 public:
  BrickView() = default;
  /// `first` points to the cell at `origin`, in global coordinates.
  HALOCLINE_HOST_DEVICE constexpr BrickView(T* first, Int3 origin, const Bricks& bricks)
      : first_(first), origin_(origin), bricks_(bricks) {}

  /// Returns the value of a held cell, owned or halo, and of its first component where it has
  /// several, which follow. Not checked. Costs a shift, a mask, two multiplications and two
  /// additions per axis.
  HALOCLINE_HOST_DEVICE constexpr T& operator()(std::int64_t x, std::int64_t y = 0,
                                                std::int64_t z = 0) const {
    return first_[bricks_.place({x - origin_.x, y - origin_.y, z - origin_.z})];
  }

  /// Returns the address of the first owned cell.
  HALOCLINE_HOST_DEVICE constexpr T* first() const { return first_; }
  /// Returns the global coordinates of the first owned cell.
  HALOCLINE_HOST_DEVICE constexpr const Int3& origin() const { return origin_; }
  HALOCLINE_HOST_DEVICE constexpr const Bricks& bricks() const { return bricks_; }

  template <class U>
  requires std::is_same_v<U, const T> HALOCLINE_HOST_DEVICE constexpr operator BrickView<U>()
      const {  // NOLINT: as T* to const T*
    return {first_, origin_, bricks_};
  }

 private:
  T* first_ = nullptr;
  Int3 origin_;
  Bricks bricks_{};
};

}  // namespace halocline
