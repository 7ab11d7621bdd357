// SPDX-License-Identifier: Apache-2.0
#include "stencil/cuda/passes/shapes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "stencil/cuda/passes/pass_work.cuh"
#include "stencil/cuda/passes/side_terms.hpp"

namespace halocline::stencil::cuda {
RowsOfPass::RowsOfPass(const problem::Model& model, const PrintedUpdate& update) {
  for (std::size_t i = 0; i < update.sources.size(); ++i) {
    const Reads& reads = update.reads[i];
    if (update.sources[i] < 0) in_memory = std::max({in_memory, reads.lower[1], reads.upper[1]});
    if (update.sources[i] == coefficient) continue;
    follows = follows || update.sources[i] < coefficient;
    lag = std::max(lag, reads.upper[1]);
    behind = std::max(behind, reads.lower[1]);
    beside = std::max({beside, reads.lower[0], reads.upper[0]});
  }
  // Ghosts mirror rows as far inside: a walk that needs some needs those, too.
  if (model.ghosts_change()) lag = behind = std::max(lag, behind);
  for (std::size_t i = 0; i < update.sources.size(); ++i)
    if (update.sources[i] != coefficient)
      kept = std::max(kept, (update.sources[i] >= 0 ? 1 : 2) * lag + update.reads[i].lower[1]);
  if (model.ghosts_change()) kept = std::max(kept, 2 * lag - 1);
  for (const std::size_t field : update.operands.outputs)
    makes_columns = makes_columns || model.ghosts_change(field, 0) || model.ghosts_change(field, 1);
}

std::string source_of_passes(const problem::Model& model, const PrintedUpdate& update) {
  const RowsOfPass rows(model, update);
  std::string sides;
  for (const std::size_t field : update.operands.outputs)
    for (std::size_t side = 0; side < 4; ++side) {
      const SideOfPass one = side_of_pass(model, field, side);
      sides += fmt::format("{{static_cast<problem::BoundaryKind>({}), {}, {}, {}}}, ",
                           static_cast<int>(one.kind), one.layers, one.by_place, one.by_sweep);
    }
  return update.source + fmt::format(R"(
#include "stencil/cuda/passes/pass.cuh"

namespace halocline::stencil::cuda {{

struct PrintedPlan {{
  static constexpr int lag = {}, behind = {}, beside = {}, kept = {}, in_memory = {};
  static constexpr bool follows = {};
  static __host__ __device__ constexpr SideOfPass side(int output, int number) {{
    constexpr SideOfPass all[] = {{{}}};
    return all[4 * output + number];
  }}
}};

}}  // namespace halocline::stencil::cuda
)",
                                     rows.lag, rows.behind, rows.beside, rows.kept, rows.in_memory,
                                     rows.follows, sides);
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
  if (RowsOfPass(model, update).makes_columns) return {.most_parts = 4, .as_long = 2.4};
  if (is_light(model, sweeps)) return {.most_parts = 2, .as_long = 1.5};
  return {.most_parts = 1, .as_long = 1.125};
}

// On an H200 laplace on 16384x16384 cells in fp32 runs at 2585 GLUP/s by 12 sweeps and 3 blocks,
// and at 2518 with rows fetched 8 ahead; by 8 sweeps at 2418, and at 2278 without; with a max norm
// of each sweep at 1850, and at 1773 without; with L2 at 1491 without, and at 1289 with; in fp64 at
// 1289 by 8 sweeps and 2 blocks, and at 1111 without.
PassForm form_of(const problem::Model& model, const PrintedUpdate& update, int sweeps,
                 halocline::Norm kind) {
  // Steps have code for each phase of the rows. NVRTC inlines that of 350 operations by itself, and
  // does not that of 550.
  constexpr int most_left_to_compiler = 400;
  const RowsOfPass rows(model, update);
  const bool is_f32 = model.precision == Precision::f32;
  const int words = is_f32 ? 1 : 2, outputs = static_cast<int>(update.operands.outputs.size());
  const int of_norm = kind == halocline::Norm::none ? 0 : kind == halocline::Norm::max ? words : 2;
  const int registers = sweeps * (outputs * rows.kept * cells_of_lane * words + of_norm) +
                        60 * outputs * words + (model.ghosts_change() ? 30 : 0);
  const bool fetches = outputs == 1 && kind != halocline::Norm::l2 &&
                       !(is_f32 && kind == halocline::Norm::none && sweeps > 10);
  return {.sweeps = sweeps,
          .vectors = cells_of_lane * words / 4,
          .ahead = rows.kept <= 2 || rows.kept % 2 == 0 ? 2
                   : rows.kept == 3                     ? 3
                                                        : 1,
          .warps = warps_of_block,
          .blocks = registers <= 128   ? 4
                    : registers <= 168 ? 3
                                       : 2,
          .fetched = fetches ? 8 : 0,
          .bare = kind != halocline::Norm::none && is_light(model, sweeps),
          .inlined = sweeps * operations_of(model) * rows.kept > most_left_to_compiler};
}

// A walk's steps are compiled for each sweep and each phase of its rows. Beyond these limits
// Cahn-Hilliard took 680 us a sweep instead of 195 one by one, by 3 sweeps (8192x8192 cells in fp32
// on an H200), shallow water 340 instead of 119 (4096x4096), and compiled for 20 s; by 2 sweeps
// they take 202 and 84. Gray-Scott by 8 sweeps takes 130 instead of 289 (8192x8192).
int most_sweeps_of(const problem::Model& model, const PrintedUpdate& update) {
  constexpr int most_registers = 255, of_output = 40, most_operations = 400;
  const RowsOfPass rows(model, update);
  const int words = model.precision == Precision::f32 ? 1 : 2;
  const int outputs = static_cast<int>(update.operands.outputs.size());
  const int by_registers = (most_registers - of_output * outputs * words) /
                           (outputs * rows.kept * cells_of_lane * words);
  // Walks store at least half of the columns that they read.
  const int by_columns = warp_lanes * cells_of_lane / 4 / std::max(rows.beside, 1);
  const int by_operations = most_operations * 2 / (operations_of(model) * std::max(2, rows.kept));
  return std::min({by_registers, by_columns, by_operations, most_sweeps_of_pass});
}

// On an H200: laplace on 16384x16384 cells in fp32 takes 106 us a sweep by 12 sweeps, with a max
// norm of each 135 by 8; in fp64 205 by 8, with a norm 314 by 6
// (bench/results/h200/gpu-passes.txt). heat_source on 4096x4096 was slower by 8 than by 4.
int suggested_sweeps_of(const problem::Model& model, const PrintedUpdate& update,
                        halocline::Norm kind) {
  const bool is_f32 = model.precision == Precision::f32, has_norm = kind != halocline::Norm::none;
  int sweeps = is_f32 || !has_norm ? 8 : 6;
  if (is_f32 && !has_norm && update.operands.outputs.size() == 1) sweeps = 12;
  if (model.ghosts_change()) sweeps = 4;
  return std::min(sweeps, most_sweeps_of(model, update));
}

double redundant_in_pass(const problem::Model& model, const PrintedUpdate& update, int sweeps) {
  const int possible = std::min(sweeps, most_sweeps_of(model, update));
  const int lost = 2 * lost_lanes(possible, RowsOfPass(model, update).beside, cells_of_lane);
  return static_cast<double>(lost) / (warp_lanes - lost);
}

std::optional<std::string> cannot_pass_because(const problem::Model& model) {
  if (model.axes != 2)
    return fmt::format("the grid has {}, not two", model.axes == 1 ? "one axis" : "three axes");
  for (std::size_t f = 0; f < model.fields.size(); ++f) {
    const problem::ModelField& field = model.fields[f];
    if (!field.follows) continue;
    if (model.fields[*field.follows].follows) return "a field follows one that follows another";
    for (std::size_t side = 0; side < 4; ++side)
      if (field.reach.has_neighbours() &&
          (model.ghosts_change(f, side) || model.ghosts_change(*field.follows, side)))
        return fmt::format(
            "neighbours of field '{}', which follows another, are read at sides that change",
            field.name);
  }
  if (most_sweeps_of(model, print_update(model)) < 2)
    return "values of its update do not fit in registers, or it has too many operations";
  return std::nullopt;
}

}  // namespace halocline::stencil::cuda
