// SPDX-License-Identifier: Apache-2.0
#pragma once
// The outermost layers of a sweep: a walk waits for the halo next to its cells and writes its cells
// to the neighbour's halo: see device/face_port.hpp.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "device/cuda/flags.cuh"
#include "stencil/cuda/walks/lane.cuh"

namespace halocline::stencil::cuda {

/// A walk's tile of a layer: its numbers along x and y, and the tiles of the layer.
struct FaceTile {
  int strip, group, strips, groups;

  __device__ int number() const { return group * strips + strip; }
  /// Returns the number of a tile up to 2 from here. Beyond an end of the layer that is a tile at
  /// the other end: with a periodic axis a neighbour, otherwise one more to wait for.
  __device__ int number_at(int by_strips, int by_groups) const {
    return folded(group + by_groups, groups) * strips + folded(strip + by_strips, strips);
  }

 private:
  static __device__ int folded(int at, int count) { return (at + 2 * count) % count; }
};

/// Returns whether an update reads cells of other layers outside the cell's own column.
template <class Update>
__host__ __device__ constexpr bool reads_layers_diagonally() {
  for (int input = 0; input < Update::inputs; ++input)
    if (!Update::reads(input).others_in_column()) return true;
  return false;
}

/// The ends of the region that a walk over layers `from` to `to` reaches and beyond which there are
/// neighbours. `axes`: of the region; its last one is that of the layers.
template <int axes, class Work>
class WalkFaces {
 public:
  __device__ WalkFaces(const Work& work, const FaceTile& tile, int from, int to)
      : work_(work),
        tile_(tile),
        has_lower_(from == 0 && work.faces.lower.raise != nullptr),
        has_upper_(to == work.cells[axes - 1] && work.faces.upper.raise != nullptr) {}

  __device__ bool any() const { return has_lower_ || has_upper_; }

  /// Waits for the halos that the walk reads, in its first threads, one for each tile and end. All
  /// its threads see them after their next barrier. The tiles are its own and, if the update reads
  /// other layers diagonally, those up to a number of tiles from it: two where it reads less than a
  /// tile beyond it, for the last one of an axis that wraps around may have fewer cells than are
  /// read.
  template <class Update, int most_strips_around, int most_groups_around>
  __device__ void await(int thread) const {
    constexpr bool diagonally = reads_layers_diagonally<Update>();
    constexpr int strips_around = diagonally ? most_strips_around : 0,
                  groups_around = diagonally ? most_groups_around : 0;
    constexpr int across = 2 * strips_around + 1, tiles = across * (2 * groups_around + 1);
    const bool is_upper = thread >= tiles;
    if (thread >= 2 * tiles || !(is_upper ? has_upper_ : has_lower_)) return;
    const device::FaceSide& side = is_upper ? work_.faces.upper : work_.faces.lower;
    const int which = is_upper ? thread - tiles : thread;
    const int tile =
        tile_.number_at(which % across - strips_around, which / across - groups_around);
    device::cuda::await(side.raised + tile, side.swept[tile_.number()], work_.faces.watch,
                        is_upper ? 1 : 0);
  }

  /// Copies cells that this warp wrote, `rows` rows from `row` on, to the neighbours' halos.
  template <int output, int rows, class Real>
  __device__ void push(const Lane<Real>& lane, Index row) const {
    const device::FacePort& faces = work_.faces;
    if (has_lower_) push_to<output, rows>(faces.lower, lane, row, 0);
    if (has_upper_)
      push_to<output, rows>(faces.upper, lane, row, work_.cells[axes - 1] - faces.upper.layers);
  }

  /// Signals to the neighbours that the walk's cells have arrived: in one thread, after a barrier
  /// of all that have pushed.
  __device__ void raise() const {
    if (has_lower_) raise_of(work_.faces.lower);
    if (has_upper_) raise_of(work_.faces.upper);
  }

 private:
  /// Of as many layers from `first` on as the neighbour's halo has. Each lane reads only values
  /// that it wrote itself.
  template <int output, int rows, class Real>
  __device__ void push_to(const device::FaceSide& side, const Lane<Real>& lane, Index row,
                          Index first) const {
    using Vector = typename VectorOf<Real>::Type;
    const auto& out = work_.out[output];
    const Index step = out.step[axes - 1];
    for (int layer = 0; layer < side.layers; ++layer) {
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        if (axes == 3 && row + r >= work_.cells[1]) break;
        const Index in_layer = lane.column + (axes == 2 ? 0 : (row + r) * out.step[1]);
        const Real* from = out.cell + (first + layer) * step + in_layer;
        // `to` is the destination of the region's first cell; the output begins `lead` cells
        // before it.
        Real* to = static_cast<Real*>(side.to) + layer * step - work_.lead + in_layer;
        if (lane.inside == Lane<Real>::all)
          *reinterpret_cast<Vector*>(to) = *reinterpret_cast<const Vector*>(from);
        else
          for (int i = 0; i < Lane<Real>::width; ++i)
            if ((lane.inside >> i & 1) != 0) to[i] = from[i];
      }
    }
  }

  __device__ void raise_of(const device::FaceSide& side) const {
    const int tile = tile_.number();
    const device::Epoch swept = side.swept[tile] + 1;
    device::cuda::raise(side.raise + tile, swept);
    side.swept[tile] = swept;
  }

  const Work& work_;
  FaceTile tile_;
  bool has_lower_, has_upper_;
};

}  // namespace halocline::stencil::cuda
