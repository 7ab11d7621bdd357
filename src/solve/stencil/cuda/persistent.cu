// SPDX-License-Identifier: Apache-2.0
// Chooses the tiles of a persistent sweep, and launches it.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "device/buffer.hpp"
#include "device/cuda/launch.cuh"
#include "stencil/cuda/arguments.hpp"
#include "stencil/cuda/persistent.cuh"
#include "stencil/cuda/sweep.hpp"
#include "stencil/formulas.hpp"
#include "stencil/scalar_cells.hpp"

namespace halocline::stencil::cuda {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::unavailable, why); }

int ceil_div(std::int64_t a, std::int64_t b) { return static_cast<int>((a + b - 1) / b); }

/// Returns the tiling for rows of so many vectors, with `wide` tiles side by side in a block.
Tiling tiling_of(std::int64_t vectors, std::int64_t height, int rows, int wide) {
  Tiling tiles{};
  tiles.rows = rows;
  tiles.wide = wide;
  tiles.tall = resident_warps / wide;
  tiles.strips = ceil_div(vectors, warp_lanes);
  tiles.groups = ceil_div(height, rows);
  tiles.blocks_wide = ceil_div(tiles.strips, tiles.wide);
  tiles.blocks_tall = ceil_div(tiles.groups, tiles.tall);
  return tiles;
}

/// Estimates the cost of a block's edges, in words of its rows. A block sends its sides last and
/// waits for them first, so having sides costs as much as 1024 words, and each of their words as
/// much as eight. On an H200, 2048x2048 cells in f32 took 3.76 us per sweep with four tiles side by
/// side, 4.03 with one and 4.78 with sixteen; 256x256 took 2.45 with one and 1.76 with two, which
/// have no sides.
std::int64_t cost_of_edges(const Tiling& tiles, bool wraps) {
  const std::int64_t rows = 2 * 4 * warp_lanes * tiles.wide;
  const bool has_sides = tiles.blocks_wide > 1 || wraps;
  return rows + (has_sides ? 1024 + 8 * 2 * tiles.rows * tiles.tall : 0);
}

template <class Real, class Formula>
class CudaPersistentSweep final : public PersistentSweep {
 public:
  CudaPersistentSweep(const Formula& formula, const PersistentParts& parts) : formula_(formula) {
    const FieldStorage& field = parts.levels[0];
    const Int3 cells = field.shape().owned.extent();
    const std::int64_t vectors = ceil_div(cells.x, RowPart<Real>::width);
    for (const FieldStorage& level : parts.levels)
      if (!has_rows_of_vectors(level, sizeof(Real)))
        refuse("rows do not begin on 16-byte boundaries");
    if (vectors < 2) refuse("rows are shorter than 32 bytes");
    if (parts.wraps_along_x && cells.x % RowPart<Real>::width != 0)
      refuse("rows along a periodic x are not a multiple of 16 bytes long");
    if (cells.x > most_cells_along || cells.y > most_cells_along)
      refuse("an axis has more than " + std::to_string(most_cells_along) + " cells");
    choose_tiles(vectors, cells.y, parts);
    for (std::size_t l = 0; l < 2; ++l) {
      const FieldStorage& level = parts.levels[l];
      levels_[l] = reinterpret_cast<Real*>(level.first_owned());
      steps_[l] = level.strides().y;
    }
    work_.cells[0] = cells.x;
    work_.cells[1] = cells.y;
    work_.wraps = parts.wraps_along_x;
    work_.ragged = cells.x % RowPart<Real>::width != 0;
    work_.port = parts.port;
    allocate_edges(vectors, cells.y);
  }

  void run(const SweepBatch& batch, Stream stream) override {
    constexpr std::int64_t most = 1 << 30;
    if (stream.is_host() || batch.count < 1 || batch.count > most)
      throw Error(ErrorKind::internal,
                  "invalid sweep batch: " + std::to_string(batch.count) + " sweeps on " +
                      (stream.is_host() ? "the host's" : "a GPU's") + " stream");
    ResidentWork<Real> work = work_;
    for (std::size_t l = 0; l < 2; ++l) {
      work.level[l] = levels_[(batch.level + l) % 2];
      work.row_step[l] = steps_[(batch.level + l) % 2];
    }
    work.count = static_cast<int>(batch.count);
    const bool has_norms = batch.norm != halocline::Norm::none;
    const auto within = [&](std::int64_t sweeps) {
      return static_cast<int>(std::min(sweeps, batch.count));
    };
    work.first_norm = has_norms ? within(batch.first_norm) : work.count;
    work.norm_every = has_norms ? within(batch.norm_every) : work.count;
    work.norm_before = batch.reduction.parts != nullptr;
    work.last_parts = batch.partial_norms;
    work.epoch = epoch_;
    work.first_permit = permit_;
    epoch_ += static_cast<unsigned>(batch.count);
    permit_ += static_cast<unsigned long long>(batch.count) + 1;
    launch(batch.norm == halocline::Norm::l2 ? of_l2_ : of_max_, work, work_of(batch.reduction),
           stream);
  }

 private:
  using Kernel = void (*)(ResidentWork<Real>, ReduceWork, Formula);
  using Vector = typename VectorOf<Real>::Type;
  static constexpr std::int64_t most_cells_along = 1 << 24;

  struct Kernels {
    int rows;
    Kernel of_max, of_l2;
  };
  template <int rows>
  static Kernels kernels() {
    return {rows, persist<rows, Norm::max, Real, Formula>, persist<rows, Norm::l2, Real, Formula>};
  }

  static std::size_t shared_bytes(const Tiling& tiles) {
    return static_cast<std::size_t>(ResidentShared<Real>::of(tiles).end) * sizeof(Vector);
  }

  /// Chooses the lowest tiles that all fit on the GPU, in blocks whose edges cost least.
  void choose_tiles(std::int64_t vectors, std::int64_t height, const PersistentParts& parts) {
    std::int64_t most_cells = 0;
    for (const Kernels& chosen : {kernels<2>(), kernels<4>(), kernels<8>(), kernels<16>()}) {
      if (chosen.rows < parts.fewest_rows) continue;
      std::optional<std::int64_t> least_cost;
      for (int wide = 1; wide <= resident_warps; wide *= 2) {
        const Tiling tiles = tiling_of(vectors, height, chosen.rows, wide);
        const std::size_t shared = shared_bytes(tiles);
        std::int64_t room =
            device::cuda::most_resident_blocks(chosen.of_max, resident_threads, shared);
        room = std::min(room,
                        device::cuda::most_resident_blocks(chosen.of_l2, resident_threads, shared));
        // One more block reduces norms, with a thread for each of the others.
        room = std::min<std::int64_t>(room - 1, resident_threads);
        most_cells =
            std::max(most_cells, room * resident_threads * chosen.rows * RowPart<Real>::width);
        if (std::int64_t{tiles.blocks_wide} * tiles.blocks_tall > room) continue;
        const std::int64_t cost = cost_of_edges(tiles, parts.wraps_along_x);
        if (least_cost && *least_cost <= cost) continue;
        least_cost = cost;
        work_.tiles = tiles;
        of_max_ = chosen.of_max;
        of_l2_ = chosen.of_l2;
      }
      if (least_cost) return;
    }
    if (most_cells <= 0) refuse("the GPU lacks shared memory or cooperative launches");
    refuse("the GPU's registers hold at most " + std::to_string(most_cells) + " cells of a rank");
  }

  void allocate_edges(std::int64_t vectors, std::int64_t height) {
    const Tiling& tiles = work_.tiles;
    const std::int64_t line = device::edge_pairs_per_vector * vectors * sizeof(device::EdgeWords);
    const std::int64_t column =
        2 * height * static_cast<std::int64_t>(sizeof(Real) / 4) * sizeof(device::cuda::EdgeWord);
    const std::int64_t lines = tiles.blocks_tall * line, columns = tiles.blocks_wide * column;
    const std::int64_t parts = resident_threads * std::int64_t{sizeof(device::EdgeWords)};
    memory_ = device::allocate(Memory::device, 2 * (lines + columns) + parts + 16);
    auto* at = static_cast<std::byte*>(memory_.get());
    const auto take = [&](std::int64_t bytes) {
      void* const taken = at;
      at += bytes;
      return taken;
    };
    work_.from_below = static_cast<device::EdgeWords*>(take(lines));
    work_.from_above = static_cast<device::EdgeWords*>(take(lines));
    work_.parts = static_cast<device::EdgeWords*>(take(parts));
    work_.from_left = static_cast<device::cuda::EdgeWord*>(take(columns));
    work_.from_right = static_cast<device::cuda::EdgeWord*>(take(columns));
    work_.permission = static_cast<device::cuda::EdgeWord*>(take(16));
  }

  void launch(Kernel kernel, const ResidentWork<Real>& work, const ReduceWork& reduction,
              Stream stream) const {
    device::cuda::launch_resident(kernel,
                                  {.blocks = static_cast<unsigned>(work.tiles.blocks()) + 1,
                                   .threads = resident_threads,
                                   .shared_bytes = shared_bytes(work.tiles)},
                                  stream, work, reduction, formula_);
  }

  Formula formula_;
  ResidentWork<Real> work_{};
  Kernel of_max_ = nullptr, of_l2_ = nullptr;
  Real* levels_[2];
  Index steps_[2];
  std::shared_ptr<void> memory_;
  // From 1, since zeroed memory must hold neither.
  unsigned epoch_ = 1;
  unsigned long long permit_ = 1;
};

struct Maker {
  using Result = std::unique_ptr<PersistentSweep>;
  const PersistentParts& parts;

  template <class Real, int axes, class Formula>
  Result make(const Formula& formula) const {
    if constexpr (axes == 2)
      return std::make_unique<CudaPersistentSweep<Real, Formula>>(formula, parts);
    else
      refuse("it needs a grid of two axes");
  }
};

}  // namespace

std::unique_ptr<PersistentSweep> make_persistent_sweep(const PersistentParts& parts) {
  return make_of_formula(problem::Catalogue{}, parts.problem, parts.setting, parts.precision,
                         Maker{parts});
}

}  // namespace halocline::stencil::cuda
