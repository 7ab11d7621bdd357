// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several sweeps of a tile in one walk along the last axis.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "problem/model.hpp"
#include "stencil/cpu/kernel.hpp"
#include "stencil/pass.hpp"

namespace halocline::stencil::cpu {

/// How the tiles of a pass look. Layers are planes, in 2-D rows, in 1-D cells.
struct WalkShape {
  std::int64_t step = 0;  ///< layers that a sweep advances by before the next one follows
  Int3 tile{};            ///< the most cells of a tile across the layers, along each axis
};

/// Returns the shape of passes of so many sweeps over a region that one thread walks through, with
/// a second-level cache of so many bytes.
WalkShape shape_of_walk(const problem::Model& model, std::int64_t sweeps, const Box& region,
                        std::int64_t cache_bytes);

/// Walks through tiles in one thread. Each sweep follows the one before as closely as its formula
/// reads, so that of the levels between the first and the last only some layers exist, in buffers
/// that stay in the second-level cache. A tile's sweeps begin wider than they end: neighbouring
/// tiles compute some cells twice, and do not wait for each other.
class TileWalk {
 public:
  /// Of the levels in between; 0: by the size of the cache. Other values are for tests.
  static inline std::int64_t most_bytes = 0;

  /// The model must outlive it.
  explicit TileWalk(const problem::Model& model);

  /// Does the sweeps of a pass for the cells of a tile. `norms`, one for each sweep that has one,
  /// accumulate: the maximum, or the sum of squares, of owned cells.
  void run(const Pass& pass, const Box& tile, const WalkShape& shape, const Kernel& kernel,
           Stores stores, std::span<double> norms);

 private:
  /// A sweep of the pass, and its result, the level of the same number: of that, but for the last,
  /// buffers have some layers.
  struct Stage {
    std::int64_t first;  ///< layer in the buffers
    std::int64_t front;  ///< layer that the sweep computes next
    Box computed;        ///< cells that it computes in all
  };

  /// A side whose ghosts change.
  struct Side {
    std::size_t field;
    int axis, end;
  };

  void begin();
  void choose_cells();
  void make_buffers();
  void advance(std::int64_t sweep);
  void update(std::int64_t sweep, const Box& layers);
  void update_block(std::int64_t sweep, const Box& cells, bool counts);
  void make_room(std::int64_t level, std::int64_t end);
  void fill_ghosts(std::int64_t level, std::int64_t from, std::int64_t to);
  void fill_side(std::int64_t level, const Side& side, const Box& cells);
  std::int64_t mirrored_by_lower_ghosts() const;
  void store_followers(const Box& layers);
  Corner value_of(std::size_t field, std::int64_t level, Int3 cell) const;
  Corner in_buffer(std::size_t field, std::int64_t level, Int3 cell) const;
  std::int64_t end_of(std::int64_t sweep) const;

  const problem::Model& model_;
  int axis_;                           // along which it walks
  std::vector<std::size_t> buffered_;  // of each field the number of its buffer
  std::size_t buffers_ = 0;            // of a level
  std::int64_t behind_ = 0;            // layers that others read behind a level's front
  std::vector<Side> sides_;            // in the order in which they are filled
  // Of the tile:
  const Pass* pass_ = nullptr;
  const Kernel* kernel_ = nullptr;
  Stores stores_ = Stores::cached;
  std::span<double> norms_;
  Box tile_, counted_, changing_, stored_;
  std::int64_t step_ = 0, capacity_ = 0;
  Int3 strides_{};  // of a buffer, in cells
  std::int64_t buffer_cells_ = 0, lead_ = 0;
  std::vector<Stage> stages_;  // from 1
  Block block_;
  std::vector<double> row_sums_;
  struct Free {
    void operator()(std::byte* memory) const { operator delete (memory, std::align_val_t{128}); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace halocline::stencil::cpu
