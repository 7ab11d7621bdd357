// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of the cpu backend: each call updates one block of cells in one thread.

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "problem/model.hpp"

namespace halocline::stencil::cpu {

/// The first cell of a block in a field, and the elements from a cell to the next along each axis.
struct Corner {
  std::byte* cell;
  Int3 step;
};

/// Cells to update.
struct Block {
  std::vector<Corner> in;   ///< fields, then coefficients
  std::vector<Corner> out;  ///< fields
  Box cells;                ///< in global coordinates
  double time = 0;          ///< t
  /// Of the kernel, which keeps it from block to block. Each thread has blocks of its own.
  mutable std::shared_ptr<void> memory{};

  Int3 extent() const { return cells.extent(); }
};

/// Whether stores go through the caches or bypass them. Bypassing saves reading every line before
/// it is written, but its next use loads it from memory.
enum class Stores { cached, streamed };

/// The partial norm of a block.
struct BlockNorm {
  Norm kind;
  double max = 0;              ///< kind max: the kernel raises it
  double* row_sums = nullptr;  ///< kind l2: the kernel sets one per row of the block
  std::int64_t plane = 0;      ///< rows from one plane to the next in `row_sums`
};

/// The update of a model by one kind of vectors. Threads may share it.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Updates a block. Streamed stores are ordered with later ones only after flush_stores().
  virtual void update(const Block& block, Stores stores, BlockNorm& norm) const = 0;
};

void flush_stores();

/// Returns the larger value; NaN if either is NaN.
inline double larger(double a, double b) { return a > b || a != a ? a : b; }

/// The model must outlive the kernel.
using MakeKernel = std::unique_ptr<Kernel> (*)(const problem::Model&);

/// Vectors of one width.
struct Level {
  std::string_view name;
  /// For rows of adjacent cells: interprets formulas.
  MakeKernel make;
};

/// Lists the levels that this build and this processor support, narrowest first.
std::span<const Level> levels();

/// Whether this build has a level of that name that this processor lacks.
bool is_level_elsewhere(std::string_view name);

/// Makes a kernel for any strides, with plain loops.
std::unique_ptr<Kernel> make_strided_kernel(const problem::Model& model);

}  // namespace halocline::stencil::cpu
