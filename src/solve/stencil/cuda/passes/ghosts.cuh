// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ghosts that change in a pass: each sweep's are made in registers, of the layer that it reads.
// Those beyond sides of two axes are the later axis's.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "stencil/cuda/passes/edges.cuh"
#include "stencil/cuda/passes/place.cuh"

namespace halocline::stencil::cuda {

template <class Shape, class Plan, class Work, class Real>
class GhostsOfPass {
 public:
  using Place = PlaceInPass<Shape, Plan, Work, Real>;
  static constexpr int axes = Place::axes, width = Place::width, rows = Place::rows;
  using Row = RowOfLane<Real, width>;

  __device__ __forceinline__ GhostsOfPass(const Work& work, const Place& place)
      : work_(work), place_(place) {}

  /// Makes those of a layer beyond the sides of x. Call it on all lanes of a warp.
  template <int s, int o>
  __device__ __forceinline__ void make_columns(int at, Row (&layer)[rows]) const {
    for_each_number<2>([&](auto end) {
      constexpr int side = end.value;  // NVRTC 13 has no constant `end.value` in the inner function
      constexpr SideOfPass one = Plan::side(o, side);
      if constexpr (one.layers > 0) {
        const int nearest = place_.side_at[side] - (side == 0 ? 1 : 0);
        if (nearest < 0 || nearest >= place_.lanes * width) return;
        for_each_number<rows>([&](auto row) {
          constexpr int j = row.value;
          const bool row_changes = axes == 2 || Place::is(Place::changing, place_.bits_of_rows, j);
          for_each_number<one.layers>([&](auto number) {
            constexpr int out = side == 0 ? -number.value : number.value;
            const int ghost = nearest + out;
            const Real mirrored = cell_of_strip(layer[j], nearest - out + (side == 0 ? 1 : -1));
            const bool has_it = row_changes && place_.lane == lane_of(ghost);
            if (axes == 3 && !has_it) return;
            const Real value =
                problem::ghost(one.kind,
                               axes == 3 ? terms<s, o, side, number.value>(0, place_.row + j, at)
                                         : terms<s, o, side, number.value>(0, at, 0),
                               mirrored);
            // In a loop, NVRTC 13 takes k for the number it is compared with, and has the row in
            // memory.
            for_each_number<width>([&](auto k) {
              if (has_it && k.value == ghost - lane_of(ghost) * width)
                layer[j].cell[k.value] = value;
            });
          });
        });
      }
    });
  }

  /// Makes a row of ghosts from the one that mirrors it.
  template <int s, int o, int side, int layer>
  __device__ __forceinline__ void make_row(Row& ghosts, const Row& mirrored, int y, int z) const {
    for_each_number<width>([&](auto k) {
      ghosts.cell[k.value] =
          problem::ghost(Plan::side(o, side).kind,
                         terms<s, o, side, layer>(place_.column - work_.lead + k.value, y, z),
                         mirrored.cell[k.value]);
    });
  }

  /// Makes those beyond the sides of y among a layer's rows and those of neighbouring warps, which
  /// `Edges` has.
  template <class Edges, int s, int o>
  __device__ __forceinline__ void make_rows(int z, Row (&layer)[rows],
                                            typename Edges::Rows& taken) const {
    constexpr int over = Edges::over;
    for_each_number<2>([&](auto end) {
      constexpr int side = 2 + end.value;
      constexpr SideOfPass one = Plan::side(o, side);
      if constexpr (one.layers > 0) {
        // The domain's first row or the first behind it, counted from this warp's.
        const int begin =
            static_cast<int>(side == 2 ? work_.changing.lower[1] : work_.changing.upper[1]) -
            place_.row;
        if (begin < -over || begin > rows + over) return;
        for_each_number<one.layers>([&](auto number) {
          constexpr int out = number.value;
          const int ghosts = side == 2 ? begin - 1 - out : begin + out;
          const int mirrored = side == 2 ? begin + out : begin - 1 - out;
          // One row alone is made: all of their places in code of their own are too much of it.
          Row made = layer[0];
          for_each_number<rows + 2 * over>([&](auto place) {
            constexpr int at = place.value - over;
            if (at == mirrored) made = Edges::template row_of<at>(layer, taken);
          });
          make_row<s, o, side, out>(made, made, place_.row + ghosts, z);
          for_each_number<rows + 2 * over>([&](auto place) {
            constexpr int at = place.value - over;
            if (at == ghosts) Edges::template row_of<at>(layer, taken) = made;
          });
        });
      }
    });
  }

 private:
  /// Returns the terms of ghosts that sweep s reads, of a place in the region.
  template <int s, int o, int side, int layer>
  __device__ __forceinline__ problem::GhostTerms<Real> terms(Index x, Index y, Index z) const {
    constexpr SideOfPass one = Plan::side(o, side);
    if constexpr (problem::values_of(one.kind) == 0) {
      return {};
    } else {
      Index number = 0, cells = 1;
      for_each_number<axes>([&](auto axis) {
        constexpr int along = axis.value;
        if constexpr (along != side / 2) {
          const Index at = along == 0 ? x : along == 1 ? y : z;
          if constexpr (Plan::side(o, side).by_place)
            number += cells * work_.along[along].number_of(work_.origin[along] + at);
          cells *= work_.along[along].cells;
        }
      });
      return work_.terms[o][side][place_of_terms(one, cells, s, layer, number)];
    }
  }

  /// Returns the lane of the strip that has one of its cells; none for cells outside it.
  static __device__ __forceinline__ int lane_of(int at) {
    return static_cast<int>(static_cast<unsigned>(at + warp_lanes * width) / width) - warp_lanes;
  }
  /// Returns the value of a cell of the strip.
  __device__ __forceinline__ Real cell_of_strip(const Row& row, int at) const {
    const int lane = lane_of(at);
    Real cell = row.cell[0];
    for_each_number<width>([&](auto k) {
      if (k.value == at - lane * width) cell = row.cell[k.value];
    });
    const int begin = static_cast<int>(threadIdx.x) - place_.lane;
    return __shfl_sync(~0u, cell, (begin + lane) & (warp_lanes - 1));
  }

  const Work& work_;
  const Place& place_;
};

}  // namespace halocline::stencil::cuda
