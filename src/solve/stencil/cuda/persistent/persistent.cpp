// SPDX-License-Identifier: Apache-2.0
// Chooses the tiles of a persistent sweep, and launches it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/cuda/compiler.hpp"
#include "device/buffer.hpp"
#include "device/cuda/launch.cuh"
#include "stencil/cuda/arguments.hpp"
#include "stencil/cuda/persistent/resident_work.cuh"
#include "stencil/cuda/sweep.hpp"
#include "stencil/cuda/text/build.hpp"
#include "stencil/cuda/text/prebuilt.hpp"
#include "stencil/cuda/text/printed.hpp"
#include "stencil/cuda/walks/shapes.hpp"

namespace halocline::stencil::cuda {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::unavailable, why); }

int ceil_div(std::int64_t a, std::int64_t b) { return static_cast<int>((a + b - 1) / b); }

/// The extent that is cut into tiles: vectors of a row, rows along the last axis, and lines, in 2-D
/// one.
struct Extent {
  std::int64_t vectors, rows, lines;
  std::array<bool, 2> wraps;  ///< along x, and from the last line to the first
};

/// Returns the tiling with `wide` tiles side by side in a block, and `deep` lines behind each
/// other.
Tiling tiling_of(const Extent& extent, int rows, int wide, int deep) {
  Tiling tiles{};
  tiles.rows = rows;
  tiles.wide = wide;
  tiles.deep = deep;
  tiles.tall = resident_warps / (wide * deep);
  tiles.strips = ceil_div(extent.vectors, warp_lanes);
  tiles.lines = static_cast<int>(extent.lines);
  tiles.groups = ceil_div(extent.rows, rows);
  tiles.blocks_wide = ceil_div(tiles.strips, tiles.wide);
  tiles.blocks_deep = ceil_div(tiles.lines, tiles.deep);
  tiles.blocks_tall = ceil_div(tiles.groups, tiles.tall);
  return tiles;
}

/// All of them, in 2-D with one line in a block.
std::vector<Tiling> tilings_of(const Extent& extent, int rows) {
  std::vector<Tiling> all;
  const int deepest = extent.lines > 1 ? resident_warps : 1;
  for (int deep = 1; deep <= deepest; deep *= 2)
    for (int wide = 1; wide * deep <= resident_warps; wide *= 2) {
      const Tiling tiles = tiling_of(extent, rows, wide, deep);
      const int lines = 2 * rows * tiles.wide * tiles.tall;
      if (extent.lines == 1 || lines <= lines_of_warp * resident_warps) all.push_back(tiles);
    }
  return all;
}

/// Estimates the cost of a block's edges, in words of its rows. A block sends its sides last and
/// waits for them first, so having sides costs as much as 1024 words, and each of their words as
/// much as eight. On an H200, 2048x2048 cells in f32 took 3.76 us per sweep with four tiles side by
/// side, 4.03 with one and 4.78 with sixteen; 256x256 took 2.45 with one and 1.76 with two, which
/// have no sides. Rows between lines are like others.
std::int64_t cost_of_edges(const Tiling& tiles, const Extent& extent) {
  const std::int64_t row = 2 * 4 * warp_lanes * tiles.wide;
  const bool has_sides = tiles.blocks_wide > 1 || extent.wraps[0];
  const bool has_lines = tiles.blocks_deep > 1 || extent.wraps[1];
  return row * tiles.deep + (has_lines ? row * tiles.rows * tiles.tall : 0) +
         (has_sides ? 1024 + 8 * 2 * tiles.rows * tiles.tall * tiles.deep : 0);
}

/// A kernel for tiles of some number of rows.
template <class Real>
struct PersistentKernel {
  int rows = 0;
  void (*kernel)(ResidentWork<Real>, ReduceWork, PrintedConstants<Real>) = nullptr;
};

/// Those of an update, each made for all ranks when it is asked for.
template <class Real>
class PersistentKernels {
 public:
  explicit PersistentKernels(const PersistentParts& parts)
      : parts_(parts), update_(print_update(parts.model)) {}

  PrintedConstants<Real> constants() const { return constants_in<Real>(update_); }
  double compile_seconds() const { return compile_seconds_; }

  /// Returns how many blocks are resident, before there is a kernel to ask: one on each
  /// multiprocessor, for threads take more than half of its 128 registers for each of them (laplace
  /// 91, in tiles of two rows).
  static std::int64_t most_blocks() { return device::cuda::multiprocessors(); }

  /// Whether more bytes of a thread than its cells take, and more than a quarter of its registers,
  /// do not fit in registers. Fewer do no harm: 144 do not in laplace with 16 rows.
  static bool spills(const PersistentKernel<Real>& one) {
    constexpr int quarter_of_registers = 128;
    return device::cuda::spilled_bytes(one.kernel) >
           static_cast<std::size_t>(std::max(one.rows * vector_bytes, quarter_of_registers));
  }

  halocline::Norm norm() const { return norm_of_persist(parts_.norm); }

  /// Collective.
  PersistentKernel<Real> of(int rows) {
    using Kernel = std::remove_pointer_t<decltype(PersistentKernel<Real>::kernel)>;
    const Build build = build_for_all(parts_.communicator, [&] {
      return Build{.codes = {code_of(update_.source, name_of_persist(parts_.model, norm(), rows))}};
    });
    compile_seconds_ += build.seconds;
    return {rows, modules_.emplace_back(build.codes[0]).template kernel<Kernel>()};
  }

 private:
  PersistentParts parts_;
  PrintedUpdate update_;
  std::vector<compiler::Module> modules_;
  double compile_seconds_ = 0;
};

/// Its constructor is collective if the parts name a communicator.
template <int axes, class Real>
class CudaPersistentSweep final : public PersistentSweep {
 public:
  explicit CudaPersistentSweep(const PersistentParts& parts) : kernels_(parts) {
    const FieldStorage& field = parts.levels[0];
    const Box &owned = field.shape().owned, held = field.shape().held();
    const Int3 cells = owned.extent();
    const Extent extent{.vectors = ceil_div(cells.x, vector_cells<Real>),
                        .rows = cells[axes - 1],
                        .lines = axes == 3 ? cells.y : 1,
                        .wraps = {parts.wraps[0], axes == 3 && parts.wraps[1]}};
    on_all_ranks(parts.communicator, [&] { check(parts, extent.vectors, cells); });
    choose_tiles(extent, parts);
    constexpr int order[] = {0, axes - 1, 1};
    for (int i = 0; i < axes; ++i) {
      const int axis = order[i];
      work_.cells[i] = cells[axis];
      work_.origin[i] = owned.lower[axis];
      work_.has_halo[i][0] = held.lower[axis] < owned.lower[axis];
      work_.has_halo[i][1] = held.upper[axis] > owned.upper[axis];
    }
    work_.wraps = extent.wraps[0];
    work_.wraps_lines = extent.wraps[1];
    work_.ragged = cells.x % vector_cells<Real> != 0;
    work_.port = parts.port;
    allocate_edges(extent);
  }

  void run(const Pass& pass, Stream stream) override {
    constexpr std::int64_t most = 1 << 30;
    if (stream.is_host() || pass.sweeps < 1 || pass.sweeps > most)
      throw Error(ErrorKind::internal,
                  "invalid pass: " + std::to_string(pass.sweeps) + " sweeps on " +
                      (stream.is_host() ? "the host's" : "a GPU's") + " stream");
    ResidentWork<Real> work = work_;
    const FieldStorage* levels[] = {&pass.in[0], &pass.out[0]};
    for (std::size_t l = 0; l < 2; ++l) {
      work.level[l] = reinterpret_cast<Real*>(levels[l]->first_owned());
      work.row_step[l] = axes == 3 ? levels[l]->strides().z : levels[l]->strides().y;
      work.line_step[l] = axes == 3 ? levels[l]->strides().y : 0;
    }
    work.count = static_cast<int>(pass.sweeps);
    work.first_sweep = pass.first_sweep;
    work.dt = pass.clock.dt;
    const bool has_norms = pass.norms.kind != halocline::Norm::none;
    const auto within = [&](std::int64_t sweeps) {
      return static_cast<int>(std::min(sweeps, pass.sweeps));
    };
    work.first_norm = has_norms ? within(pass.norms.first) : work.count;
    work.norm_every = has_norms ? within(pass.norms.every) : work.count;
    work.norm_before = pass.reduction.parts != nullptr;
    work.last_parts = pass.norms.parts;
    work.epoch = epoch_;
    work.first_permit = permit_;
    epoch_ += epochs_of(work.count);
    permit_ += static_cast<unsigned long long>(pass.sweeps) + 1;
    if (has_norms && pass.norms.kind != kernels_.norm())
      throw Error(ErrorKind::internal, "a pass has a norm for which no kernel was compiled");
    launch(work, work_of(pass.reduction), stream);
  }

  double compile_seconds() const override { return kernels_.compile_seconds(); }

 private:
  using Kernel = PersistentKernel<Real>;
  static constexpr std::int64_t most_cells_along = 1 << 24;

  static void check(const PersistentParts& parts, std::int64_t vectors, const Int3& cells) {
    for (const FieldStorage& level : parts.levels)
      if (!has_rows_of_vectors(level, sizeof(Real)))
        refuse("rows do not begin on 16-byte boundaries");
    if (vectors < 2) refuse("rows are shorter than 32 bytes");
    if (parts.wraps[0] && cells.x % vector_cells<Real> != 0)
      refuse("rows along a periodic x are not a multiple of 16 bytes long");
    if (std::max({cells.x, cells.y, cells.z}) > most_cells_along)
      refuse("an axis has more than " + std::to_string(most_cells_along) + " cells");
  }

  static std::size_t shared_bytes(const Tiling& tiles) {
    return static_cast<std::size_t>(ResidentShared<Real>::template of<axes>(tiles).end) *
           vector_bytes;
  }

  static bool fits(const Tiling& tiles, std::int64_t room) {
    return std::int64_t{tiles.blocks_wide} * tiles.blocks_deep * tiles.blocks_tall <= room;
  }

  /// Returns how many blocks in addition to the one that reduces norms, with a thread for each of
  /// the others, can be resident.
  static std::int64_t room_for(const Kernel& kernel, std::size_t shared) {
    return std::min<std::int64_t>(
               resident_threads + 1,
               device::cuda::most_resident_blocks(kernel.kernel, resident_threads, shared)) -
           1;
  }

  static std::int64_t cells_in(std::int64_t blocks, int rows) {
    return blocks * resident_threads * rows * vector_cells<Real>;
  }

  /// Returns whether tiles of `rows` rows might fit, where there is no kernel yet to ask.
  static bool might_fit(const Extent& extent, int rows, std::int64_t& most_cells) {
    const std::int64_t room = PersistentKernels<Real>::most_blocks() - 1;
    for (const Tiling& tiles : tilings_of(extent, rows))
      if (fits(tiles, room)) return true;
    most_cells = std::max(most_cells, cells_in(room, rows));
    return false;
  }

  /// Chooses the lowest tiles that all fit on the GPU, in blocks whose edges cost least. All ranks
  /// ask for the same kernels, also those that have tiles already.
  void choose_tiles(const Extent& extent, const PersistentParts& parts) {
    std::int64_t most_cells = 0;
    bool has_tiles = false, spills = false;
    for (const int rows : rows_of_persist(axes)) {
      if (rows < parts.fewest_rows) continue;
      const bool wanted = !has_tiles && !spills && might_fit(extent, rows, most_cells);
      if (!any_rank(parts.communicator, wanted)) continue;
      on_all_ranks(parts.communicator, [&] {
        const Kernel kernel = kernels_.of(rows);
        spills = PersistentKernels<Real>::spills(kernel);
        if (wanted && !spills) has_tiles = choose_blocks(extent, kernel, most_cells);
      });
    }
    if (has_tiles) return;
    if (spills) refuse("values of its update do not fit in registers beside the cells");
    if (most_cells <= 0) refuse("the GPU lacks shared memory or cooperative launches");
    refuse("the GPU's registers hold at most " + std::to_string(most_cells) + " cells of a rank");
  }

  /// Returns false if the tiles of these kernels do not all fit.
  bool choose_blocks(const Extent& extent, const Kernel& kernel, std::int64_t& most_cells) {
    std::optional<std::int64_t> least_cost;
    for (const Tiling& tiles : tilings_of(extent, kernel.rows)) {
      const std::int64_t room = room_for(kernel, shared_bytes(tiles));
      most_cells = std::max(most_cells, cells_in(room, kernel.rows));
      if (!fits(tiles, room)) continue;
      const std::int64_t cost = cost_of_edges(tiles, extent);
      if (least_cost && *least_cost <= cost) continue;
      least_cost = cost;
      work_.tiles = tiles;
      kernel_ = kernel;
    }
    return least_cost.has_value();
  }

  void allocate_edges(const Extent& extent) {
    const Tiling& tiles = work_.tiles;
    const std::int64_t row =
        device::edge_pairs_per_vector * extent.vectors * sizeof(device::EdgeWords);
    const std::int64_t column = 2 * extent.rows * extent.lines *
                                static_cast<std::int64_t>(sizeof(Real) / 4) *
                                sizeof(device::EdgeWord);
    const std::int64_t lines = tiles.blocks_tall * extent.lines * row,
                       layers = axes == 3 ? tiles.blocks_deep * extent.rows * row : 0,
                       columns = tiles.blocks_wide * column;
    const std::int64_t parts = 2 * resident_threads * std::int64_t{sizeof(device::EdgeWords)};
    memory_ = device::allocate(Memory::device, 2 * (lines + layers + columns) + parts + 16);
    auto* at = static_cast<std::byte*>(memory_.get());
    const auto take = [&](std::int64_t bytes) {
      void* const taken = at;
      at += bytes;
      return taken;
    };
    work_.from_below = static_cast<device::EdgeWords*>(take(lines));
    work_.from_above = static_cast<device::EdgeWords*>(take(lines));
    work_.from_front = static_cast<device::EdgeWords*>(take(layers));
    work_.from_back = static_cast<device::EdgeWords*>(take(layers));
    work_.parts = static_cast<device::EdgeWords*>(take(parts));
    work_.from_left = static_cast<device::EdgeWord*>(take(columns));
    work_.from_right = static_cast<device::EdgeWord*>(take(columns));
    work_.permission = static_cast<device::EdgeWord*>(take(16));
  }

  void launch(const ResidentWork<Real>& work, const ReduceWork& reduction, Stream stream) const {
    device::cuda::launch_resident(kernel_.kernel,
                                  {.blocks = static_cast<unsigned>(work.tiles.blocks()) + 1,
                                   .threads = resident_threads,
                                   .shared_bytes = shared_bytes(work.tiles)},
                                  stream, work, reduction, kernels_.constants());
  }

  PersistentKernels<Real> kernels_;
  ResidentWork<Real> work_{};
  Kernel kernel_;
  std::shared_ptr<void> memory_;
  // From 1, since zeroed memory must hold neither.
  unsigned epoch_ = 1;
  unsigned long long permit_ = 1;
};

template <class Real>
std::unique_ptr<PersistentSweep> make_for(const PersistentParts& parts) {
  if (parts.model.axes == 2) return std::make_unique<CudaPersistentSweep<2, Real>>(parts);
  return std::make_unique<CudaPersistentSweep<3, Real>>(parts);
}

}  // namespace

std::unique_ptr<PersistentSweep> make_persistent_sweep(const PersistentParts& parts) {
  return parts.model.precision == Precision::f32 ? make_for<float>(parts) : make_for<double>(parts);
}

}  // namespace halocline::stencil::cuda
