// SPDX-License-Identifier: Apache-2.0
#include "stencil/cuda/passes/shapes.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stencil/cuda/passes/division.hpp"
#include "stencil/cuda/passes/side_terms.hpp"

namespace halocline::stencil::cuda {

LayersOfPass::LayersOfPass(const problem::Model& model, const PrintedUpdate& update)
    : axes(model.axes), reads_over(update.operands.outputs.size()) {
  const auto last = static_cast<std::size_t>(model.axes - 1);
  bool across = false;
  for (std::size_t i = 0; i < update.sources.size(); ++i) {
    const Reads& reads = update.reads[i];
    const int source = update.sources[i];
    if (source < 0) in_memory = std::max({in_memory, reads.lower[last], reads.upper[last]});
    if (source == coefficient) continue;
    follows = follows || source < coefficient;
    lag = std::max(lag, reads.upper[last]);
    behind = std::max(behind, reads.lower[last]);
    beside = std::max({beside, reads.lower[0], reads.upper[0]});
    if (axes < 3 || source < 0) continue;
    const int rows = std::max(reads.lower[1], reads.upper[1]);
    over = std::max(over, rows);
    if (rows > 0) reads_over[static_cast<std::size_t>(source)] = true;
    across = across || reads.across;
  }
  // Ghosts mirror layers as far inside: a walk that needs some needs those, too.
  if (model.ghosts_change()) lag = behind = std::max(lag, behind);
  if (across) {
    first_over = -behind;
    last_over = lag++;
  }
  for (std::size_t i = 0; i < update.sources.size(); ++i)
    if (update.sources[i] != coefficient)
      kept = std::max(kept, (update.sources[i] >= 0 ? 1 : 2) * lag + update.reads[i].lower[last]);
  // In the block's memory are the layers of which others read rows and the one that is left
  // meanwhile.
  if (axes == 3) kept = std::max(kept, lag - first_over + 1);
  if (model.ghosts_change()) kept = std::max(kept, 2 * lag - 1);
  if (axes == 3) slots = lag - first_over + 1;
  while (kept % slots != 0) ++slots;
  for (const std::size_t field : update.operands.outputs)
    makes_columns = makes_columns || model.ghosts_change(field, 0) || model.ghosts_change(field, 1);
}

std::size_t block_bytes_of(const problem::Model& model, const PrintedUpdate& update,
                           const PassForm& form) {
  if (model.axes == 2) return 0;
  const LayersOfPass layers(model, update);
  const int rows_of_edges = layers.over == 0 ? 0
                                             : layers.slots * form.sweeps * (form.warps + 2) *
                                                   rows_left(form.rows, layers.over);
  const int rows_ahead = (form.ahead + 1) * form.warps * form.rows;
  const auto rows = static_cast<std::size_t>(rows_of_edges) + static_cast<std::size_t>(rows_ahead);
  const auto row_cells = static_cast<std::size_t>(form.cells) * warp_lanes;
  return rows * row_cells * update.operands.outputs.size() *
         (model.precision == Precision::f32 ? 4 : 8);
}

std::string source_of_passes(const problem::Model& model, const PrintedUpdate& update) {
  const LayersOfPass layers(model, update);
  std::string sides;
  for (const std::size_t field : update.operands.outputs)
    for (std::size_t side = 0; side < 6; ++side) {
      const SideOfPass one = side_of_pass(model, field, side);
      sides += fmt::format("{{static_cast<problem::BoundaryKind>({}), {}, {}, {}}}, ",
                           static_cast<int>(one.kind), one.layers, one.by_place, one.by_sweep);
    }
  return update.source + fmt::format(R"(
#include "stencil/cuda/passes/pass.cuh"

namespace halocline::stencil::cuda {{

struct PrintedPlan {{
  static constexpr int axes = {}, lag = {}, behind = {}, beside = {}, kept = {}, in_memory = {};
  static constexpr int over = {}, first_over = {}, last_over = {}, slots = {};
  static constexpr bool follows = {}, makes_ghosts = {};
  static __host__ __device__ constexpr bool reads_over(int output) {{
    constexpr bool all[] = {{{}}};
    return all[output];
  }}
  static __host__ __device__ constexpr SideOfPass side(int output, int number) {{
    constexpr SideOfPass all[] = {{{}}};
    return all[6 * output + number];
  }}
}};

}}  // namespace halocline::stencil::cuda
)",
                                     layers.axes, layers.lag, layers.behind, layers.beside,
                                     layers.kept, layers.in_memory, layers.over, layers.first_over,
                                     layers.last_over, layers.slots, layers.follows,
                                     model.ghosts_change(), fmt::join(layers.reads_over, ", "),
                                     sides);
}

namespace {

/// Whether there is room for more code in a kernel: shallow_water by 2 sweeps, with code for steps
/// that check no rows, has its rows in memory and takes 456 us a sweep instead of 85.
bool is_light(const problem::Model& model, int sweeps) {
  constexpr int most_operations = 200;
  return sweeps * operations_of(model) <= most_operations;
}

}  // namespace

// Heavy ones have more to compute for each row, and lose less by checks: gray_scott by 8 sweeps
// (8192x8192 cells) took 115 us a sweep with its sides in two parts, and 112 in one. laplace by 8
// with a max norm (16384x16384) took 144 us in one and 135 in two, by 6 in fp64 351 and 314.
// Where ghosts are made, each sweep waits for a shuffle more: heat_source (4096x4096) took 32 us a
// sweep by 4 with all alike, and 27.
SideWalks side_walks_of(const problem::Model& model, const PrintedUpdate& update, int sweeps) {
  if (model.axes == 3) return {.most_parts = 1, .as_long = 1.25};
  if (LayersOfPass(model, update).makes_columns) return {.most_parts = 4, .as_long = 2.4};
  if (is_light(model, sweeps)) return {.most_parts = 2, .as_long = 1.5};
  return {.most_parts = 1, .as_long = 1.125};
}

namespace {

constexpr int registers_of_multiprocessor = 65536, most_registers_of_lane = 255;

int words_of(const problem::Model& model) { return model.precision == Precision::f32 ? 1 : 2; }

/// Returns the registers of a lane, by `cells` in `rows`: values of all levels, and of norms.
int registers_of(const problem::Model& model, const LayersOfPass& layers, int sweeps, int cells,
                 halocline::Norm kind) {
  const int words = words_of(model), outputs = static_cast<int>(layers.reads_over.size());
  const int of_norm = kind == halocline::Norm::none ? 0 : kind == halocline::Norm::max ? words : 2;
  // Besides levels: in 2-D the rows on their way, those at work, addresses; in 3-D the same, of
  // layers of several rows.
  const int others = layers.axes == 2 ? 60 * outputs * words : 40 + 3 * outputs * cells * words;
  return sweeps * (outputs * layers.kept * cells * words + of_norm) + others +
         (model.ghosts_change() ? 30 : 0);
}

/// The cells of a lane in 2-D, and in 3-D those of its rows in fp32.
constexpr int cells_of_lane = 4;

/// A block in 3-D.
struct BlockOfPass {
  int rows, warps;
  double cost_f32, cost_f64;  ///< of a cell
};
constexpr BlockOfPass blocks_of_passes[] = {
    {2, 16, 1, 1}, {3, 12, 1.03, 1.03}, {2, 12, 0.96, 1}, {2, 8, 1.2, 1.2}};

PassForm form_in_planes(const problem::Model& model, int sweeps, const BlockOfPass& block) {
  return {.sweeps = sweeps,
          .cells = cells_of_lane / words_of(model),
          .rows = block.rows,
          .ahead = 2,
          .warps = block.warps,
          .blocks = 1,
          .fetched = 0,
          .bare = false,
          .inlined = true};
}

/// Whether the values of a lane fit in its registers, and blocks store at least half of the rows
/// that they read.
bool fits(const problem::Model& model, const LayersOfPass& layers, const PassForm& form,
          halocline::Norm kind) {
  const int has = std::min(registers_of_multiprocessor / (form.warps * warp_lanes) & ~7,
                           most_registers_of_lane);
  return registers_of(model, layers, form.sweeps, form.cells * form.rows, kind) <= has &&
         form.rows >= layers.over && 4 * form.sweeps * layers.over <= form.rows * form.warps;
}

/// Returns the form that should be the fastest over so many cells, on an H100 or H200: which
/// computes the least that others store, and leaves the fewest multiprocessors without work. By 3
/// sweeps in fp32 star7 runs on 512x512x512 cells at 991 GLUP/s with 16 warps of 2 rows and at 957
/// with 12 of 3; laplace on 256x256x256 at 811 and 680, and at 939 with 12 of 2; in fp64 star7 on
/// 256x128x256 on each of two at 538 with 16 of 2 and at 504 with 12 of 2 (H200).
std::optional<PassForm> form_in_planes(const problem::Model& model, const PrintedUpdate& update,
                                       int sweeps, halocline::Norm kind, const Int3& cells) {
  constexpr int multiprocessors = 132;
  const LayersOfPass layers(model, update);
  const RegionOfPass region{.columns = cells.x, .rows = cells.y, .layers = cells.z};
  std::optional<PassForm> best;
  double least = std::numeric_limits<double>::max();
  for (const BlockOfPass& block : blocks_of_passes) {
    const PassForm form = form_in_planes(model, sweeps, block);
    if (!fits(model, layers, form, kind)) continue;
    const Division division =
        division_of(layers, side_walks_of(model, update, sweeps), form, region, multiprocessors);
    const double cost = division.cost * block.rows * block.warps *
                        (model.precision == Precision::f32 ? block.cost_f32 : block.cost_f64);
    if (!best || cost < least) best = form, least = cost;
  }
  return best;
}

/// Returns the updates of a pass for each cell and sweep, at the ends of walks alone one.
double updates_per_cell(const LayersOfPass& layers, const PassForm& form) {
  const int lost = lost_lanes(form.sweeps, layers.beside, form.cells);
  const double across = static_cast<double>(warp_lanes) / (warp_lanes - 2 * lost);
  if (layers.axes == 2) return across;
  const int rows = form.rows * form.warps, lost_rows = 2 * form.sweeps * layers.over;
  return across * rows / std::max(rows - lost_rows, 1);
}

}  // namespace

// laplace on 16384x16384 cells (H200), GLUP/s, and with 2 rows ahead:
//   fp32 by 12 sweeps                     2670   2461
//   fp32 by 8, with a max norm of each    2170   1972
//   fp32 by 8, with L2                    1737   1638
//   fp64 by 8                             1328   1219
//   fp64 by 6, with a max norm             906    898
// With fetched rows: fp32 without a norm 2670, not 2650, but with L2 1289, not 1491. With bare
// steps: fp32 with L2 1737, not 1563, fp64 with a max norm 906, not 683, Burgers (4096x4096, by 4)
// 166, not 147; but laplace (4096x4096) in fp32 with a max norm 1330, not 1510, and Gray-Scott
// (8192x8192) 588, not 606.
// Updates that read coefficients or have several outputs were slower with more code: anisotropic
// (4096x4096) at 353 with 3 rows ahead, at 385 with 2.
PassForm form_of(const problem::Model& model, const PrintedUpdate& update, int sweeps,
                 halocline::Norm kind, const Int3& cells) {
  if (model.axes == 3)
    return form_in_planes(model, update, sweeps, kind, cells)
        .value_or(form_in_planes(model, sweeps, std::end(blocks_of_passes)[-1]));
  // Steps have code for each phase of the rows. NVRTC inlines that of 350 operations by itself, and
  // does not that of 550.
  constexpr int most_left_to_compiler = 400;
  const LayersOfPass rows(model, update);
  const bool is_f32 = model.precision == Precision::f32;
  const int registers = registers_of(model, rows, sweeps, cells_of_lane, kind);
  const bool has_one_output = rows.reads_over.size() == 1, is_l2 = kind == halocline::Norm::l2;
  // A max norm in fp32 is one instruction for each cell.
  const bool has_light_norm = is_f32 && !is_l2;
  int ahead = rows.kept <= 2 || rows.kept % 2 == 0 ? 2 : rows.kept == 3 ? 3 : 1;
  // These divide the places of 3 layers, of which none needs to be copied to another.
  if (rows.kept == 2 && has_one_output && rows.in_memory < 0)
    ahead = has_light_norm && !model.ghosts_change() ? 3 : 1;
  return {.sweeps = sweeps,
          .cells = cells_of_lane,
          .rows = 1,
          .ahead = ahead,
          .warps = 4,
          .blocks = registers <= 128   ? 4
                    : registers <= 152 ? 3
                                       : 2,
          .fetched = has_one_output && !is_l2 ? 8 : 0,
          .bare = kind != halocline::Norm::none && is_light(model, sweeps) &&
                  !(has_light_norm && has_one_output),
          .inlined = sweeps * operations_of(model) * rows.kept > most_left_to_compiler};
}

// A walk's steps are compiled for each sweep and each phase of its layers. Beyond these limits
// Cahn-Hilliard took 680 us a sweep instead of 195 one by one, by 3 sweeps (8192x8192 cells in fp32
// on an H200), shallow water 340 instead of 119 (4096x4096), and compiled for 20 s; by 2 sweeps
// they take 202 and 84. Gray-Scott by 8 sweeps takes 130 instead of 289 (8192x8192).
int most_sweeps_of(const problem::Model& model, const PrintedUpdate& update) {
  constexpr int of_output = 40, most_operations = 400;
  const LayersOfPass layers(model, update);
  const int words = words_of(model), outputs = static_cast<int>(layers.reads_over.size());
  const bool is_flat = model.axes == 2;
  const int cells = is_flat ? cells_of_lane : 4 / words * blocks_of_passes[0].rows;
  const int by_registers = (most_registers_of_lane - of_output * outputs * words) /
                           (outputs * layers.kept * cells * words);
  // Walks store at least half of the columns that they read.
  const int by_columns =
      warp_lanes * (is_flat ? cells_of_lane : 4 / words) / 4 / std::max(layers.beside, 1);
  const int by_operations = most_operations * 2 * cells_of_lane /
                            (operations_of(model) * std::max(2, layers.kept) * cells);
  int most = std::min({by_registers, by_columns, by_operations, most_sweeps_of_pass});
  while (!is_flat && most > 1 &&
         !form_in_planes(model, update, most, halocline::Norm::l2, model.cells))
    --most;
  return most;
}

// On an H200: laplace on 16384x16384 cells in fp32 takes 100 us a sweep by 12 sweeps, with a max
// norm of each 128 by 8; in fp64 197 by 8, with a max norm 277 by 7 and 289 by 6
// (bench/results/h200/gpu-passes.txt), with L2 250 by 8 and 273 by 7. heat_source on 4096x4096 was
// slower by 8 than by 4. In 3-D, 512x512x512 cells in fp32, star7 runs at 905 GLUP/s by 3 sweeps
// and at 832 by 4; star13, whose values do not fit in registers, at 369 by 2 and at 450 by one;
// box27, whose kernels were let have as many operations as they need, at 278 by 2 and at 445.
int suggested_sweeps_of(const problem::Model& model, const PrintedUpdate& update,
                        halocline::Norm kind) {
  const bool is_f32 = model.precision == Precision::f32, has_norm = kind != halocline::Norm::none;
  int sweeps = is_f32 || kind != halocline::Norm::max ? 8 : 7;
  if (is_f32 && !has_norm && update.operands.outputs.size() == 1) sweeps = 12;
  if (model.ghosts_change()) sweeps = 4;
  if (model.axes == 3) {
    const LayersOfPass layers(model, update);
    if (layers.over > 1 || layers.last_over > 0) return 1;
    sweeps = is_f32 || !has_norm ? 3 : 2;
  }
  return std::min(sweeps, most_sweeps_of(model, update));
}

double redundant_in_pass(const problem::Model& model, const PrintedUpdate& update, int sweeps) {
  const int possible = std::min(sweeps, most_sweeps_of(model, update));
  const LayersOfPass layers(model, update);
  const PassForm form = form_of(model, update, possible, halocline::Norm::none, model.cells);
  return updates_per_cell(layers, form) - 1;
}

std::optional<std::string> cannot_pass_because(const problem::Model& model) {
  if (model.axes == 1) return "the grid has one axis";
  const bool is_flat = model.axes == 2;
  for (std::size_t f = 0; f < model.fields.size(); ++f) {
    const problem::ModelField& field = model.fields[f];
    if (!field.follows) continue;
    if (model.fields[*field.follows].follows) return "a field follows one that follows another";
    // In 3-D blocks leave the rows of the newest level alone for each other.
    if (!is_flat && field.reach.has_neighbours())
      return fmt::format("neighbours of field '{}', which follows another, are read", field.name);
    for (std::size_t side = 0; side < 4; ++side)
      if (field.reach.has_neighbours() &&
          (model.ghosts_change(f, side) || model.ghosts_change(*field.follows, side)))
        return fmt::format(
            "neighbours of field '{}', which follows another, are read at sides that change",
            field.name);
  }
  const PrintedUpdate update = print_update(model);
  if (LayersOfPass(model, update).last_over > 0)
    for (const std::size_t f : update.operands.outputs)
      if ((model.ghosts_change(f, 2) || model.ghosts_change(f, 3)) &&
          (model.ghosts_change(f, 4) || model.ghosts_change(f, 5)))
        return fmt::format(
            "cells off along both y and z are read, and sides of field '{}' of y and of z change",
            model.fields[f].name);
  if (most_sweeps_of(model, update) < 2)
    return "values of its update do not fit in registers, or it has too many operations";
  return std::nullopt;
}

}  // namespace halocline::stencil::cuda
