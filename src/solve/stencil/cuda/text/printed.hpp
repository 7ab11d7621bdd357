// SPDX-License-Identifier: Apache-2.0
#pragma once
// The updates of a model as CUDA C++, for the kernels of this folder.

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "problem/model.hpp"
#include "stencil/compiled.hpp"
#include "stencil/cuda/text/reads.hpp"
#include "stencil/formula_text.hpp"

namespace halocline::stencil::cuda {

/// The kernels' last argument, as the printed struct begins.
template <class Real>
struct PrintedConstants {
  Real constants[most_constants];
};

struct PrintedUpdate {
  /// Of the struct halocline::stencil::cuda::Printed; of Carrying, too, if there is something to
  /// carry.
  std::string source;
  Operands operands;
  std::array<double, most_constants> constants{};
  int carried = 0;        ///< values of each cell that walks carry, see stencil/carried.hpp
  int carried_steps = 0;  ///< the most steps that one is kept for
  /// How far each input is read, and by the steps of walks that carry.
  std::vector<Reads> reads, reads_of_step;
  /// What each input is to a pass of several sweeps: see `followed` of reads.hpp.
  std::vector<int> sources;
};

template <class Real>
PrintedConstants<Real> constants_in(const PrintedUpdate& update) {
  PrintedConstants<Real> all{};
  std::transform(update.constants.begin(), update.constants.end(), std::begin(all.constants),
                 [](double value) { return static_cast<Real>(value); });
  return all;
}

/// The arguments of kernels that are made of printed updates have room for most_inputs inputs and
/// this number of outputs.
inline constexpr int most_outputs = 16;
/// Inputs and outputs that kernels' arguments have room for. A launch takes longer with more: a
/// sweep of 1024x1024 cells 6.6 us with the most and 4.8 with the fewest.
struct ArgumentRoom {
  int inputs = most_inputs, outputs = most_outputs;
};
/// The sizes that kernels are made for.
inline constexpr ArgumentRoom argument_rooms[] = {{1, 1}, {4, 2}, {most_inputs, most_outputs}};

/// The shape of walks: see Shape of march.cuh and, for walks of blocks in 3-D, which take several
/// steps at once, PlaneShape of march_planes.cuh. `carries`: by the struct Carrying.
struct WalkShape {
  int ahead, rows, blocks, layers, fetched = 0;
  bool carries = false;
  int steps = 0;
  bool in_bricks = false;  ///< the arrays, in 3-D

  bool by_planes() const { return steps > 0; }
};

/// The shape of walks of a pass by several sweeps: see PassShape of passes/walk.cuh.
struct PassForm {
  int sweeps, cells, rows, ahead, warps, blocks, fetched;
  bool bare, inlined;
};

/// Returns the names of kernels, as C++ writes them.
std::string name_of_march(const problem::Model& model, halocline::Norm kind, const WalkShape& shape,
                          const ArgumentRoom& room = {});
std::string name_of_per_cell(const problem::Model& model, halocline::Norm kind,
                             const ArgumentRoom& room = {});
std::string name_of_persist(const problem::Model& model, halocline::Norm kind, int rows);
std::string name_of_pass(const problem::Model& model, halocline::Norm kind, const PassForm& form,
                         const ArgumentRoom& room);

/// Returns how much of a block's own memory a walk needs.
std::size_t block_bytes_of(const problem::Model& model, const PrintedUpdate& update,
                           const WalkShape& shape);

/// Counts what compiling the updates takes: nodes of their trees, a function as 25.
int operations_of(const problem::Model& model);

/// Returns why one launch cannot run many sweeps of the model, or nothing.
std::optional<std::string> cannot_persist_because(const problem::Model& model);

/// Prints the updates as they are: an operation for each node, constants by their bits. Updates
/// that are alike have the same text, whatever else their models have. `pushed`: a field that they
/// write, whose halos of neighbours the kernels can store; they take longer to compile.
PrintedUpdate print_update(const problem::Model& model,
                           std::optional<std::size_t> pushed = std::nullopt);

/// Returns the number by which a kernel knows the rule beyond a side of a field.
constexpr int rule_number(std::size_t field, int axis, int end) {
  return 6 * static_cast<int>(field) + 2 * axis + end;
}

/// What kernels get of the printed rules: they hold nothing.
struct PrintedRules {};
/// Prints, as the struct halocline::stencil::cuda::PrintedRules, the rules for ghosts that depend
/// on time; nothing if there are none.
std::string print_rules(const problem::Model& model);
std::string name_of_ghosts(const problem::Model& model);
std::string name_of_make_terms(const problem::Model& model);

}  // namespace halocline::stencil::cuda
