// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which kernels passes of an update take.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "problem/model.hpp"
#include "stencil/cuda/text/printed.hpp"

namespace halocline::stencil::cuda {

/// How the layers of an update's passes depend on each other: rows in 2-D, planes in 3-D.
struct LayersOfPass {
  int axes;
  /// Layers from one that is computed to the newest that it needs; at least one, since a layer is
  /// computed a step after it. One more where it needs rows of other warps of that layer.
  int lag = 1;
  int behind = 0;  ///< layers from the oldest that it needs,
  int beside = 0;  ///< and columns to the left and right
  /// In 3-D, rows above and below a cell's that it needs, and the layers in which they are, counted
  /// from the one that is computed.
  int over = 0, first_over = 0, last_over = 0;
  int slots = 1;                 ///< layers of which the block's memory has such rows
  std::vector<bool> reads_over;  ///< those rows of each output
  /// Layers of a level that are kept besides the newest: those that the next sweep reads and, where
  /// a field follows, the one after it. The newest replaces the oldest after that is used: with one
  /// more row, laplace by 8 sweeps took 161 registers instead of 128.
  int kept = 1;
  /// Layers from one that is computed to the farthest that it reads in memory, of a coefficient or
  /// a level before the one that the pass reads; -1 if there are none.
  int in_memory = -1;
  bool follows = false;
  bool makes_columns = false;  ///< ghosts beyond the sides of x

  LayersOfPass(const problem::Model& model, const PrintedUpdate& update);
};

/// A kernel with more bytes of a thread in memory, since they do not fit in registers, takes fewer
/// blocks a multiprocessor: laplace by 12 sweeps ran at 2585 GLUP/s in 3 with 112 bytes, and at
/// 2081 in 2 without.
inline constexpr std::size_t most_spilled_bytes = 144;

/// Returns the block's own memory of a pass: in 3-D the rows that its warps leave for each other,
/// and the layers on their way.
std::size_t block_bytes_of(const problem::Model& model, const PrintedUpdate& update,
                           const PassForm& form);

/// Returns why one pass cannot do several sweeps of the model, or nothing.
std::optional<std::string> cannot_pass_because(const problem::Model& model);

/// Returns the most sweeps of a pass whose values fit in registers and whose code is not too long.
int most_sweeps_of(const problem::Model& model, const PrintedUpdate& update);

/// Returns how many sweeps of a pass should be the fastest.
int suggested_sweeps_of(const problem::Model& model, const PrintedUpdate& update,
                        halocline::Norm kind);

/// Returns the updates of a pass by so many sweeps, or the most that are possible, for each cell
/// beyond one a sweep: of columns and rows that tiles beside each other both read. Those at the
/// ends of walks depend on the GPU.
double redundant_in_pass(const problem::Model& model, const PrintedUpdate& update, int sweeps);

/// Walks at the sides of the domain, which check columns.
struct SideWalks {
  int most_parts;  ///< of the layers of others
  double as_long;  ///< as others take for so many layers
};
SideWalks side_walks_of(const problem::Model& model, const PrintedUpdate& update, int sweeps);

/// Returns the shape of walks that should be the fastest over so many cells.
PassForm form_of(const problem::Model& model, const PrintedUpdate& update, int sweeps,
                 halocline::Norm kind, const Int3& cells);

/// Returns the source of passes' kernels: the update's, how its layers depend on each other, and
/// its sides.
std::string source_of_passes(const problem::Model& model, const PrintedUpdate& update);

}  // namespace halocline::stencil::cuda
