// SPDX-License-Identifier: Apache-2.0
// Chooses the tiles of a persistent sweep, and launches it.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/buffer.hpp"
#include "device/cuda/compiler.hpp"
#include "device/cuda/launch.cuh"
#include "stencil/compiled.hpp"
#include "stencil/cuda/arguments.hpp"
#include "stencil/cuda/build.hpp"
#include "stencil/cuda/kernel_headers.hpp"
#include "stencil/cuda/persistent.cuh"
#include "stencil/cuda/printed.hpp"
#include "stencil/cuda/sweep.hpp"

namespace halocline::stencil::cuda {

/// The kernels' last argument, which holds nothing: all constants are in their code.
struct Printed {};

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

/// Kernels for tiles of some rows, which may differ in the kind of their norm. One of them may be
/// null: batches never have its norm.
template <class Real, class Update>
struct PersistentKernels {
  using Kernel = void (*)(ResidentWork<Real>, ReduceWork, Update);
  int rows = 0;
  Kernel of_max = nullptr, of_l2 = nullptr;
};

/// Those of a formula that is compiled in.
template <class Real, class Update_>
class CompiledPersistent {
 public:
  using Update = Update_;
  using Kernels = PersistentKernels<Real, Update>;

  explicit CompiledPersistent(const Update& update) : update_(update) {}

  const Communicator* communicator() const { return nullptr; }
  Update update() const { return update_; }
  static constexpr bool is_compiled_now = false;
  static bool spill(const Kernels&) { return false; }
  double compile_seconds() const { return 0; }
  Kernels of(int rows) const {
    return rows == 2   ? kernels<2>()
           : rows == 4 ? kernels<4>()
           : rows == 8 ? kernels<8>()
                       : kernels<16>();
  }

 private:
  template <int rows>
  static Kernels kernels() {
    return {rows, persist<rows, Norm::max, Real, Update>, persist<rows, Norm::l2, Real, Update>};
  }

  Update update_;
};

/// Those of an update that is compiled now, for all ranks, each when it is asked for.
template <class Real>
class GeneratedPersistent {
 public:
  using Update = Printed;
  static constexpr bool is_compiled_now = true;
  using Kernels = PersistentKernels<Real, Update>;

  explicit GeneratedPersistent(const PersistentParts& parts)
      : parts_(parts), source_(print_update(parts.model).source) {}

  const Communicator* communicator() const { return parts_.communicator; }
  Update update() const { return {}; }
  double compile_seconds() const { return compile_seconds_; }

  /// Returns how many blocks are resident, before there is a kernel that tells: one on each
  /// multiprocessor, for threads take more than half of its 128 registers for each of them (laplace
  /// 91, in tiles of two rows).
  static std::int64_t most_blocks() { return device::cuda::multiprocessors(); }

  /// Whether more bytes of a thread than its cells take do not fit in registers. Fewer do no harm:
  /// with 16 rows 88 do not in laplace.
  static bool spill(const Kernels& kernels) {
    const auto kernel = kernels.of_l2 != nullptr ? kernels.of_l2 : kernels.of_max;
    return device::cuda::spilled_bytes(kernel) >
           static_cast<std::size_t>(kernels.rows * vector_bytes);
  }

  /// Collective.
  Kernels of(int rows) {
    using Kernel = std::remove_pointer_t<typename Kernels::Kernel>;
    const bool is_l2 = parts_.norm == halocline::Norm::l2;
    const Build build = build_for_all(parts_.communicator, [&] {
      return Build{
          .code = device::cuda::compile(
              {.text = source_,
               .headers = kernel_headers(),
               .kernels = {name_of_persist(
                   parts_.model, is_l2 ? halocline::Norm::l2 : halocline::Norm::max, rows)}})};
    });
    compile_seconds_ += build.seconds;
    const auto kernel = modules_.emplace_back(build.code).template kernel<Kernel>(0);
    return is_l2 ? Kernels{rows, nullptr, kernel} : Kernels{rows, kernel, nullptr};
  }

 private:
  PersistentParts parts_;
  std::string source_;
  std::vector<device::cuda::Module> modules_;
  double compile_seconds_ = 0;
};

/// `Source` has the kernels. Its constructor is collective if they name a communicator.
template <class Real, class Source>
class CudaPersistentSweep final : public PersistentSweep {
 public:
  CudaPersistentSweep(Source source, const PersistentParts& parts)
      : source_(std::move(source)), dt_(parts.model.dt.value_or(0)) {
    const FieldStorage& field = parts.levels[0];
    const Box &owned = field.shape().owned, held = field.shape().held();
    const Int3 cells = owned.extent();
    const std::int64_t vectors = ceil_div(cells.x, vector_cells<Real>);
    on_all_ranks(source_.communicator(), [&] { check(parts, vectors, cells); });
    choose_tiles(vectors, cells.y, parts);
    for (std::size_t l = 0; l < 2; ++l) {
      const FieldStorage& level = parts.levels[l];
      levels_[l] = reinterpret_cast<Real*>(level.first_owned());
      steps_[l] = level.strides().y;
    }
    for (int axis = 0; axis < 2; ++axis) {
      work_.cells[axis] = cells[axis];
      work_.origin[axis] = owned.lower[axis];
      work_.has_halo[axis][0] = held.lower[axis] < owned.lower[axis];
      work_.has_halo[axis][1] = held.upper[axis] > owned.upper[axis];
    }
    work_.wraps = parts.wraps_along_x;
    work_.ragged = cells.x % vector_cells<Real> != 0;
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
    work.first_sweep = batch.first_sweep;
    work.dt = dt_;
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
    launch(kernel_for(batch.norm), work, work_of(batch.reduction), stream);
  }

  double compile_seconds() const override { return source_.compile_seconds(); }

 private:
  using Kernels = typename Source::Kernels;
  using Kernel = typename Kernels::Kernel;
  using Vector = typename VectorOf<Real>::Type;
  static constexpr std::int64_t most_cells_along = 1 << 24;

  static void check(const PersistentParts& parts, std::int64_t vectors, const Int3& cells) {
    for (const FieldStorage& level : parts.levels)
      if (!has_rows_of_vectors(level, sizeof(Real)))
        refuse("rows do not begin on 16-byte boundaries");
    if (vectors < 2) refuse("rows are shorter than 32 bytes");
    if (parts.wraps_along_x && cells.x % vector_cells<Real> != 0)
      refuse("rows along a periodic x are not a multiple of 16 bytes long");
    if (cells.x > most_cells_along || cells.y > most_cells_along)
      refuse("an axis has more than " + std::to_string(most_cells_along) + " cells");
  }

  Kernel kernel_for(halocline::Norm norm) const {
    const bool is_l2 =
        norm == halocline::Norm::l2 || (norm == halocline::Norm::none && !kernels_.of_max);
    const Kernel kernel = is_l2 ? kernels_.of_l2 : kernels_.of_max;
    if (kernel == nullptr)
      throw Error(ErrorKind::internal, "a batch has a norm for which no kernel was compiled");
    return kernel;
  }

  static std::size_t shared_bytes(const Tiling& tiles) {
    return static_cast<std::size_t>(ResidentShared<Real>::of(tiles).end) * sizeof(Vector);
  }

  static bool fits(const Tiling& tiles, std::int64_t room) {
    return std::int64_t{tiles.blocks_wide} * tiles.blocks_tall <= room;
  }

  /// Returns how many blocks beside the one that reduces norms, with a thread for each of the
  /// others, can be resident.
  static std::int64_t room_for(const Kernels& kernels, std::size_t shared) {
    std::int64_t room = resident_threads + 1;
    const auto limit_by = [&](Kernel kernel) {
      if (kernel == nullptr) return;
      room = std::min(room, device::cuda::most_resident_blocks(kernel, resident_threads, shared));
    };
    limit_by(kernels.of_max);
    limit_by(kernels.of_l2);
    return room - 1;
  }

  static std::int64_t cells_in(std::int64_t blocks, int rows) {
    return blocks * resident_threads * rows * vector_cells<Real>;
  }

  /// Whether tiles of so many rows might fit, where there is no kernel yet that tells.
  static bool might_fit(std::int64_t vectors, std::int64_t height, int rows,
                        std::int64_t& most_cells) {
    if constexpr (Source::is_compiled_now) {
      const std::int64_t room = Source::most_blocks() - 1;
      for (int wide = 1; wide <= resident_warps; wide *= 2)
        if (fits(tiling_of(vectors, height, rows, wide), room)) return true;
      most_cells = std::max(most_cells, cells_in(room, rows));
      return false;
    } else {
      return true;
    }
  }

  /// Chooses the lowest tiles that all fit on the GPU, in blocks whose edges cost least. Where
  /// kernels are compiled, all ranks ask for the same, also those that have tiles already.
  void choose_tiles(std::int64_t vectors, std::int64_t height, const PersistentParts& parts) {
    std::int64_t most_cells = 0;
    bool has_tiles = false, spills = false;
    for (const int rows : {2, 4, 8, 16}) {
      if (rows < parts.fewest_rows) continue;
      const bool wanted = !has_tiles && !spills && might_fit(vectors, height, rows, most_cells);
      if (!any_rank(source_.communicator(), wanted)) continue;
      on_all_ranks(source_.communicator(), [&] {
        const Kernels kernels = source_.of(rows);
        spills = Source::spill(kernels);
        if (wanted && !spills)
          has_tiles = choose_blocks(vectors, height, parts.wraps_along_x, kernels, most_cells);
      });
    }
    if (has_tiles) return;
    if (spills) refuse("values of its update do not fit in registers beside the cells");
    if (most_cells <= 0) refuse("the GPU lacks shared memory or cooperative launches");
    refuse("the GPU's registers hold at most " + std::to_string(most_cells) + " cells of a rank");
  }

  /// Returns false if the tiles of these kernels do not all fit.
  bool choose_blocks(std::int64_t vectors, std::int64_t height, bool wraps, const Kernels& kernels,
                     std::int64_t& most_cells) {
    std::optional<std::int64_t> least_cost;
    for (int wide = 1; wide <= resident_warps; wide *= 2) {
      const Tiling tiles = tiling_of(vectors, height, kernels.rows, wide);
      const std::int64_t room = room_for(kernels, shared_bytes(tiles));
      most_cells = std::max(most_cells, cells_in(room, kernels.rows));
      if (!fits(tiles, room)) continue;
      const std::int64_t cost = cost_of_edges(tiles, wraps);
      if (least_cost && *least_cost <= cost) continue;
      least_cost = cost;
      work_.tiles = tiles;
      kernels_ = kernels;
    }
    return least_cost.has_value();
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
                                  stream, work, reduction, source_.update());
  }

  Source source_;
  double dt_;
  ResidentWork<Real> work_{};
  Kernels kernels_;
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
    using Source = CompiledPersistent<Real, OneField<Formula, axes>>;
    if constexpr (axes == 2)
      return std::make_unique<CudaPersistentSweep<Real, Source>>(
          Source(OneField<Formula, axes>{formula}), parts);
    else
      refuse("it needs a grid of two axes");
  }
};

template <class Real>
std::unique_ptr<PersistentSweep> generated(const PersistentParts& parts) {
  using Source = GeneratedPersistent<Real>;
  return std::make_unique<CudaPersistentSweep<Real, Source>>(Source(parts), parts);
}

}  // namespace

std::unique_ptr<PersistentSweep> make_compiled_persistent_sweep(const PersistentParts& parts) {
  return make_compiled(parts.model, Maker{parts});
}

std::unique_ptr<PersistentSweep> make_generated_persistent_sweep(const PersistentParts& parts) {
  return parts.model.precision == Precision::f32 ? generated<float>(parts)
                                                 : generated<double>(parts);
}

}  // namespace halocline::stencil::cuda
