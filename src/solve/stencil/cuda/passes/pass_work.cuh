// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments of a pass of several sweeps, and how its walks divide a region.
//
// For the host and for kernels: compiles with NVRTC, so it includes nothing of the standard
// library.

#include "stencil/cuda/passes/sides.cuh"
#include "stencil/cuda/walks/tiles.cuh"

namespace halocline::stencil::cuda {

/// How tiles of rows divide a region of three axes along y. Beside each other they read `lost` rows
/// more than they store.
struct RowTiles {
  int count, begin;  ///< the first tile's first row
  int own, lost;     ///< rows of a tile that is not at an end, which others do not store, and are
  int rows;          ///< of the region
};

/// How walks divide a region: in strips side by side, in 3-D tiles of rows one above the other, and
/// pieces of these along the last axis. Those of the first and the last strip, which may have
/// ghosts to make, are divided again in 2-D.
struct WalksOfPass {
  int strips, layers;  ///< layers of a piece
  int parts;           ///< of a piece of the first and the last strip; 1 if there is one strip
  RowTiles tiles;
  /// Where few columns are left for the last strip: the tiles that its walks have side by side, and
  /// the lanes of each.
  int abreast, lanes;
};

/// Returns the strips whose walks have one tile.
HALOCLINE_READS int whole_strips(const WalksOfPass& all) {
  return all.abreast > 1 ? all.strips - 1 : all.strips;
}
/// Returns the walks of a row of pieces.
HALOCLINE_READS int walks_beside(const WalksOfPass& all) {
  const int abreast = all.abreast > 1 ? (all.tiles.count + all.abreast - 1) / all.abreast : 0;
  return whole_strips(all) * all.tiles.count + abreast + 2 * (all.parts - 1);
}

struct WalkOfPass {
  int strip, tile, from, to;  ///< layers; some may be beyond the region
};

/// Walks of the first and the last strip that are not their pieces' first come after the others.
HALOCLINE_READS WalkOfPass walk_of_pass(const WalksOfPass& all, int number) {
  const int beside = walks_beside(all), place = number % beside,
            from = number / beside * all.layers;
  const int whole = whole_strips(all), further = place - whole * all.tiles.count;
  if (all.abreast > 1 && further >= 0)
    return {all.strips - 1, further * all.abreast, from, from + all.layers};
  const int strip = further < 0 ? place % whole : further % 2 == 0 ? 0 : all.strips - 1;
  const int tile = further < 0 ? place / whole : 0, part = further < 0 ? 0 : 1 + further / 2;
  const bool is_whole = strip > 0 && strip < all.strips - 1;
  const int parts = is_whole ? 1 : all.parts;
  return {strip, tile, from + part * all.layers / parts, from + (part + 1) * all.layers / parts};
}

/// The rows of a tile: its first, which may be outside the region, and those that it stores.
struct RowsOfTile {
  int first, from, to;
};
HALOCLINE_READS RowsOfTile rows_of_tile(const RowTiles& all, int number) {
  if (number >= all.count) return {all.begin, 0, 0};
  const int first = all.begin + number * all.own;
  return {first, number == 0 ? 0 : first + all.lost,
          number + 1 == all.count ? all.rows : first + all.lost + all.own};
}

/// Where a lane of a warp is: its tile, which may be none, and which of the strip's lanes it is.
struct LaneOfWalk {
  int tile, lane, lanes;
};
HALOCLINE_READS LaneOfWalk lane_of_walk(const WalksOfPass& all, const WalkOfPass& walk, int lane) {
  if (walk.strip < whole_strips(all)) return {walk.tile, lane, warp_lanes};
  const int number = lane / all.lanes < all.abreast ? lane / all.lanes : all.abreast - 1;
  return {walk.tile + number, lane - number * all.lanes, all.lanes};
}

/// The arguments of a pass over a region, in its coordinates.
template <class Real, int inputs = 1, int outputs = 1>
struct PassWork {
  /// Of the level that is read; `lead` cells before the region's first.
  Array<const Real> in[inputs];
  /// Of the level that is written, and of the one before it where a field follows; else null.
  Array<Real> out[outputs], before[outputs];
  Index cells[3];   ///< of the region
  Index origin[3];  ///< the domain's cell at which the region begins
  Index around[3];  ///< cells of an axis that the region wraps around, else 0
  /// By output and side (x lower, x upper, y lower, ...), where ghosts change.
  const problem::GhostTerms<Real>* terms[outputs][6];
  CellsAlong along[3];  ///< each axis
  int lead;             ///< cells from a 16-byte boundary to the region's first
  WalksOfPass walks;
  Range readable;         ///< cells that arrays hold
  Range changing;         ///< cells that sweeps change: others keep their values
  Range owned;            ///< cells that norms count
  long long first_sweep;  ///< its number, unless the clock has it
  GraphClock clock;
  PartialNorms* parts;  ///< of the first sweep; those of others follow, see bytes_of_pass_norms
  Index first_part;     ///< index of this region's first partial norms
  bool is_last;         ///< region of its pass: stores the numbers of partial norms
  const unsigned int* stop;  ///< if it is not zero, do nothing; may be null
};

/// Returns the partial norms of a sweep of a pass, by those of its first.
__host__ __device__ inline PartialNorms* parts_of_sweep(PartialNorms* first, int sweep) {
  return reinterpret_cast<PartialNorms*>(reinterpret_cast<char*>(first) +
                                         sweep * bytes_of_pass_norms);
}

/// The lanes at each end of a strip whose cells other strips store: what their neighbours are, a
/// pass of that many sweeps knows of fewer and fewer cells. `beside`: cells that a sweep reads to
/// the left or right; `width`: cells of a lane.
HALOCLINE_READS int lost_lanes(int sweeps, int beside, int width) {
  return (sweeps * beside + width - 1) / width;
}

/// The rows of a layer that a warp of `rows` leaves where `over` are read beyond it.
HALOCLINE_READS int rows_left(int rows, int over) { return rows < 2 * over ? rows : 2 * over; }

}  // namespace halocline::stencil::cuda
