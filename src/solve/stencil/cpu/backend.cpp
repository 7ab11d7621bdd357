// SPDX-License-Identifier: Apache-2.0
#include "stencil/cpu/backend.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "field/cells.hpp"
#include "field/partition.hpp"
#include "stencil/check.hpp"
#include "stencil/cpu/caches.hpp"
#include "stencil/cpu/compiled_kernel.hpp"
#include "stencil/cpu/gathered.hpp"
#include "stencil/cpu/kernel.hpp"
#include "stencil/cpu/tile_walk.hpp"
#include "text/refuse.hpp"

namespace halocline::stencil {
namespace cpu {
namespace {

// The piece of a plane that stays in a cache until the next planes need it: half of a second-level
// cache of 1 MiB holds two such pieces. star7 fp64 on one core of an EPYC 9004: 512^3 the same with
// and without; 1024x1024x64 1.54 GLUP/s to 1.35; 2048x2048x24 1.54 to 1.37; 64 to 512 KiB differ by
// 3 %.
//
// In 2-D the rows of strips that stay in the first-level cache are too short for the prefetcher:
// 8192^2 in strips of 2048 cells is 10 % slower than whole rows.
constexpr std::int64_t plane_piece_bytes = 256 << 10;

// Rows of bricks are swept in boxes as thick as a brick and so long: with its neighbours, such a
// box of 8x8 rows in fp64 takes 100 KiB, which stay in a second-level cache.
constexpr std::int64_t gathered_length = 128;

/// A part of a sweep: a box of which all cells count for the norm, or none.
struct Task {
  const Pass& pass;
  Box box;
  Norm norm;
  const Kernel& kernel;
  Stores stores;
};

std::int64_t rows_per_block(const Task& task) {
  const Int3 extent = task.box.extent();
  if (extent.z == 1) return extent.y;
  return std::max<std::int64_t>(
      8, plane_piece_bytes / (extent.x * task.pass.in[0].shape().element_bytes) / 8 * 8);
}

class CpuSweep final : public Sweep {
 public:
  struct Kernels {
    std::string_view level;
    std::unique_ptr<Kernel> vectors, strided;
    bool are_compiled = true;
    double compile_seconds = 0;
    std::string not_compiled_because{};
  };

  CpuSweep(Kernels kernels, const problem::Model& model, const SweepOptions& options)
      : kernels_(std::move(kernels)),
        model_(model),
        options_(options),
        maxima_(static_cast<std::size_t>(options.threads)),
        blocks_(static_cast<std::size_t>(options.threads)),
        rows_(static_cast<std::size_t>(options.threads)),
        norms_(static_cast<std::size_t>(options.threads)) {
    for (int thread = 0; thread < options.threads; ++thread) walks_.emplace_back(model);
  }

  void run(const Pass& pass, Stream stream) override {
    check_pass(pass, model_, SweptBy::host, stream);
    if (pass.sweeps > 1) return run_several(pass);
    Task task{.pass = pass,
              .box = pass.region,
              .norm = Norm::none,
              .kernel = kernel_for(pass),
              .stores = stores_for(pass)};
    if (pass.norms.kind == Norm::none) return run(task, nullptr);
    const Box owned = intersect(pass.region, pass.out[0].shape().owned);
    for (const Box& rim : subtract(pass.region, owned)) {
      task.box = rim;
      run(task, nullptr);
    }
    task.box = owned;
    task.norm = pass.norms.kind;
    run(task, pass.norms.sum);
  }

  void make_passes(const SweepOptions& options) override {
    options_.sweeps_per_pass = options.sweeps_per_pass;
  }
  /// Buffers have rows of adjacent cells, and so has what goes into them.
  std::int64_t sweeps_in_pass(std::int64_t most, const Pass& pass) const override {
    const bool is_strided = &kernel_for(pass) == kernels_.strided.get();
    return is_strided ? 1 : std::min(most, options_.sweeps_per_pass);
  }

  bool has_compiled_formulas() const override { return kernels_.are_compiled; }
  double compile_seconds() const override { return kernels_.compile_seconds; }
  std::string not_compiled_because() const override { return kernels_.not_compiled_because; }
  std::string_view simd() const override { return kernels_.level; }

 private:
  const Kernel& kernel_for(const Pass& pass) const {
    if (pass.out[0].as_bricks()) return *kernels_.vectors;
    for (const Fields& fields : {pass.in, pass.out, pass.coefficients})
      for (const FieldStorage& field : fields)
        if (field.strides().x != 1) return *kernels_.strided;
    return *kernels_.vectors;
  }
  Stores stores_for(const Pass& pass) const {
    if (pass.out[0].as_bricks()) return Stores::cached;
    const FieldShape& shape = pass.out[0].shape();
    const auto arrays = static_cast<std::int64_t>(pass.in.size() + model_.updates().size() +
                                                  pass.coefficients.size());
    const Footprint both{.bytes = arrays * shape.owned.cells() * shape.element_bytes,
                         .ranks_on_node = options_.ranks_on_node,
                         .threads = options_.threads};
    const Caches reached =
        options_.cache_bytes > 0 ? Caches{.bytes = options_.cache_bytes} : caches();
    return exceeds(reached, both) ? Stores::streamed : Stores::cached;
  }

  /// The levels in between take so much of a second-level cache: what is read and written goes
  /// through it, too. laplace in fp64 on 4096^2 cells, 8 sweeps a pass: 2.40 GLUP/s with 0.6 of the
  /// cache, 2.31 with all, 2.29 with 0.3.
  static std::int64_t bytes_for_levels() {
    constexpr double share = 0.6;
    constexpr std::int64_t usual = 1 << 20;
    if (TileWalk::most_bytes > 0) return TileWalk::most_bytes;
    const std::int64_t bytes = caches().second_level_bytes;
    return static_cast<std::int64_t>(share * static_cast<double>(bytes > 0 ? bytes : usual));
  }

  /// Runs a pass of several sweeps.
  void run_several(const Pass& pass) {
    const bool alone =
        options_.threads == 1 || pass.region.cells() < options_.fewest_cells_for_threads;
    const int threads = alone ? 1 : options_.threads;
    if (alone) {
      walk_share(pass, pass.region, 0);
    } else {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
      for (int thread = 0; thread < threads; ++thread)
        walk_share(pass, field::share_of(pass.region, threads, thread), thread);
    }
    if (pass.norms.kind == Norm::none) return;
    for (std::size_t sweep = 0; sweep < static_cast<std::size_t>(pass.sweeps); ++sweep)
      for (std::size_t thread = 0; thread < static_cast<std::size_t>(threads); ++thread) {
        const double one = norms_[thread][sweep];
        double& all = pass.norms.sum[sweep];
        all = pass.norms.kind == Norm::max ? larger(all, one) : all + one;
      }
  }

  /// Walks through the tiles of a thread's share.
  void walk_share(const Pass& pass, const Box& share, int thread) {
    const auto t = static_cast<std::size_t>(thread);
    norms_[t].assign(static_cast<std::size_t>(pass.sweeps), 0);
    if (share.empty()) return;
    const Kernel& kernel = kernel_for(pass);
    const Stores stores = stores_for(pass);
    const WalkShape shape = shape_of_walk(model_, pass.sweeps, share, bytes_for_levels());
    const Int3 tile = shape.tile;
    for (std::int64_t z = share.lower.z; z < share.upper.z; z += tile.z)
      for (std::int64_t y = share.lower.y; y < share.upper.y; y += tile.y)
        for (std::int64_t x = share.lower.x; x < share.upper.x; x += tile.x)
          walks_[t].run(pass, intersect(share, Box{{x, y, z}, Int3{x, y, z} + tile}), shape, kernel,
                        stores, norms_[t]);
    if (stores == Stores::streamed) flush_stores();
  }

  void run(const Task& task, double* norm_sum) {
    if (task.box.empty()) return;
    const Int3 extent = task.box.extent();
    if (task.norm == Norm::l2)
      row_sums_.resize(static_cast<std::size_t>(segments(task) * extent.y * extent.z));
    double maximum = 0;
    // All threads or one: OpenMP makes new threads when a team grows again.
    if (options_.threads == 1 || task.box.cells() < options_.fewest_cells_for_threads) {
      maximum = update_share(task, task.box, 0);
    } else {
#pragma omp parallel for num_threads(options_.threads) schedule(static, 1)
      for (int thread = 0; thread < options_.threads; ++thread)
        maxima_[static_cast<std::size_t>(thread)] =
            update_share(task, field::share_of(task.box, options_.threads, thread), thread);
      for (const double of_thread : maxima_) maximum = larger(maximum, of_thread);
    }
    if (task.norm == Norm::max) *norm_sum = larger(*norm_sum, maximum);
    if (task.norm == Norm::l2)
      *norm_sum += std::accumulate(row_sums_.begin(), row_sums_.end(), 0.0);
  }

  /// Cells along x that a kernel takes at once, counted from the first of the task.
  static std::int64_t segment_of(const Task& task) {
    return task.pass.out[0].as_bricks() ? gathered_length : field::segment_cells(task.box);
  }
  static std::int64_t segments(const Task& task) {
    return (task.box.extent().x + segment_of(task) - 1) / segment_of(task);
  }

  /// Updates a thread's share; returns its part of the maximum norm, if that is the norm.
  double update_share(const Task& task, const Box& share, int thread) {
    const std::int64_t rows = rows_per_block(task), cells = segment_of(task);
    BlockNorm norm{.kind = task.norm, .plane = task.box.extent().y};
    Block& block = blocks_[static_cast<std::size_t>(thread)];
    if (task.pass.out[0].as_bricks()) {
      update_bricks(task, share, thread, norm);
      return norm.max;
    }
    for (std::int64_t x = share.lower.x; x < share.upper.x; x += cells)
      for (std::int64_t y = share.lower.y; y < share.upper.y; y += rows) {
        const Int3 end{std::min(x + cells, share.upper.x), std::min(y + rows, share.upper.y),
                       share.upper.z};
        update_block(task, {{x, y, share.lower.z}, end}, block, norm);
      }
    if (task.stores == Stores::streamed) flush_stores();
    return norm.max;
  }

  void update_block(const Task& task, const Box& box, Block& block, BlockNorm& norm) {
    const Pass& pass = task.pass;
    begin_block(task, box, block, norm);
    for (const Fields& fields : {pass.in, pass.coefficients})
      for (const FieldStorage& field : fields) block.in.push_back(corner_of(field, box.lower));
    for (const FieldStorage& field : pass.out) block.out.push_back(corner_of(field, box.lower));
    task.kernel.update(block, task.stores, norm);
  }

  void begin_block(const Task& task, const Box& box, Block& block, BlockNorm& norm) {
    if (task.norm == Norm::l2) {
      const Int3 extent = task.box.extent(), at = box.lower - task.box.lower;
      const std::int64_t segment = at.x / segment_of(task);
      norm.row_sums = row_sums_.data() + (segment * extent.z + at.z) * extent.y + at.y;
    }
    block.in.clear();
    block.out.clear();
    block.cells = box;
    block.time = task.pass.time();
  }

  /// Updates a share in boxes that end where bricks do.
  void update_bricks(const Task& task, const Box& share, int thread, BlockNorm& norm) {
    const Bricks& bricks = *task.pass.out[0].as_bricks();
    const Int3 origin = task.pass.out[0].shape().owned.lower;
    const auto end_of = [&](std::int64_t at, int axis) {
      const std::int64_t of_brick = bricks.cells()[axis];
      return std::min(share.upper[axis],
                      origin[axis] + (((at - origin[axis]) >> bricks.shift[axis]) + 1) * of_brick);
    };
    for (std::int64_t z = share.lower.z; z < share.upper.z; z = end_of(z, 2))
      for (std::int64_t y = share.lower.y; y < share.upper.y; y = end_of(y, 1))
        for (std::int64_t x = share.lower.x; x < share.upper.x; x += gathered_length) {
          const std::int64_t x_end = std::min(share.upper.x, x + gathered_length);
          update_gathered(task, {{x, y, z}, {x_end, end_of(y, 1), end_of(z, 2)}}, thread, norm);
        }
  }

  /// Copies a box with its neighbours to rows, updates it there, and copies the new values back.
  void update_gathered(const Task& task, const Box& box, int thread, BlockNorm& norm) {
    const Pass& pass = task.pass;
    Block& block = blocks_[static_cast<std::size_t>(thread)];
    std::vector<GatheredCells>& rows = rows_[static_cast<std::size_t>(thread)];
    begin_block(task, box, block, norm);
    rows.resize(2 * model_.fields.size() + model_.coefficients.size());
    auto next = rows.begin();
    const auto gather = [&](const FieldStorage& field, const problem::Reach& reach) {
      const auto& [x, y, z] = reach.lower;
      const auto& [to_x, to_y, to_z] = reach.upper;
      next->hold(field, widened_to_bricks(field, grow(box, {x, y, z}, {to_x, to_y, to_z})));
      next->gather(field);
      block.in.push_back(next++->corner(box.lower));
    };
    for (std::size_t f = 0; f < model_.fields.size(); ++f)
      gather(pass.in[f], model_.fields[f].reach);
    for (std::size_t c = 0; c < model_.coefficients.size(); ++c)
      gather(pass.coefficients[c], model_.coefficients[c].reach);
    const auto first_out = next;
    for (std::size_t f = 0; f < model_.fields.size(); ++f) {
      next->hold(pass.out[f], box);
      block.out.push_back(next++->corner(box.lower));
    }
    task.kernel.update(block, task.stores, norm);
    for (std::size_t f = 0; f < model_.fields.size(); ++f)
      if (!model_.fields[f].follows) first_out[static_cast<std::ptrdiff_t>(f)].scatter(pass.out[f]);
  }

  static Corner corner_of(const FieldStorage& field, Int3 cell) {
    return {field::address_of(field, cell), field::steps_of(field)};
  }

  Kernels kernels_;
  const problem::Model& model_;
  SweepOptions options_;
  std::vector<double> maxima_;  // one per thread
  std::vector<Block> blocks_;   // one per thread, kept: small grids take some microseconds
  std::vector<std::vector<GatheredCells>> rows_;  // of bricks, one list per thread
  std::vector<double> row_sums_;  // one per segment of a row: rows, planes, segments
  // Of passes by several sweeps, for each thread:
  std::vector<TileWalk> walks_;
  std::vector<std::vector<double>> norms_;
};

const Level& find_level(std::string_view name) {
  if (name == "auto") return levels().back();
  std::string names = "auto";
  for (const Level& level : levels()) {
    if (level.name == name) return level;
    names += fmt::format(", {}", level.name);
  }
  if (is_level_elsewhere(name))
    throw Error(
        ErrorKind::unavailable,
        fmt::format("this processor does not have the vectors '{}'; it has: {}", name, names));
  refuse("there are no vectors '{}'; there are: {}", name, names);
}

}  // namespace

std::optional<std::string> Backend::cannot_pass_because(const problem::Model& model) const {
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    for (std::size_t side = 0; side < 2 * static_cast<std::size_t>(model.axes); ++side)
      if (model.fields[f].follows && model.ghosts_change(f, side))
        return fmt::format("boundaries of '{}', which follows another field, change",
                           model.fields[f].name);
  return std::nullopt;
}

/// Two threads of a Xeon (Sapphire Rapids), GLUP/s by single sweeps and by passes of 4, 8 and 16
/// (docs/figures/cpu.md): heat in one axis 1.8, 2.9, 3.4, 4.0; laplace 8192^2 with its norm 2.7,
/// 4.5, 5.1, 4.3; gray_scott 2048^2 2.5, 3.5, 3.5, 3.2. In three axes tiles that stay in the cache
/// are so narrow that passes are slower: star7 1.6, 1.3, 1.0.
std::int64_t Backend::suggested_sweeps_of_pass(const problem::Model& model, Norm) const {
  constexpr std::int64_t most[] = {16, 8, 1};
  return most[model.axes - 1];
}

std::unique_ptr<Sweep> Backend::make(const problem::Model& model,
                                     const SweepOptions& options) const {
  if (options.threads < 1) refuse("{} threads per rank: at least 1 is needed", options.threads);
  const Level& level = options.plain ? levels().front() : find_level(options.simd);
  CpuSweep::Kernels kernels{
      .level = level.name, .vectors = {}, .strided = make_strided_kernel(model)};
  kernels.vectors = level.make(model);
  CompiledKernel compiled = make_compiled_kernel(level.name, model, *kernels.vectors, options);
  if (options.formulas == Formulas::compiled && !compiled.kernel)
    throw Error(ErrorKind::unavailable,
                fmt::format("formulas cannot be compiled: {}", compiled.why_not));
  kernels.are_compiled = compiled.kernel != nullptr;
  if (compiled.kernel) kernels.vectors = std::move(compiled.kernel);
  kernels.compile_seconds = compiled.seconds;
  kernels.not_compiled_because = std::move(compiled.why_not);
  return std::make_unique<CpuSweep>(std::move(kernels), model, options);
}

}  // namespace cpu

std::vector<std::string> simd_levels() {
  std::vector<std::string> names;
  for (const cpu::Level& level : cpu::levels()) names.emplace_back(level.name);
  return names;
}

void check_simd(std::string_view name) { cpu::find_level(name); }

}  // namespace halocline::stencil
