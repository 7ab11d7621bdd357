// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of the cpu backend: each call updates one block of cells in one thread.

#include <memory>
#include <span>
#include <string_view>

#include "problem/problem.hpp"

namespace halocline::stencil::cpu {

/// Cells to update. Strides are in elements.
struct Block {
  const void* in;
  void* out;
  Int3 extent;
  Int3 in_step, out_step;
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

/// A formula compiled for one kind of vectors. Threads may share it.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Updates a block. Streamed stores are ordered with later ones only after flush_stores().
  virtual void update(const Block& block, Stores stores, BlockNorm& norm) const = 0;
};

void flush_stores();

/// Returns the larger value; NaN if either is NaN.
inline double larger(double a, double b) { return a > b || a != a ? a : b; }

using MakeKernel = std::unique_ptr<Kernel> (*)(const problem::Problem&, const problem::Setting&,
                                               problem::Precision);

/// Vectors of one width.
struct Level {
  std::string_view name;
  MakeKernel make;  ///< for rows of adjacent cells
};

/// Lists the levels that this build and this processor support, narrowest first.
std::span<const Level> levels();

/// Whether this build has a level of that name that this processor lacks.
bool is_level_elsewhere(std::string_view name);

/// Makes a kernel for any strides, with plain loops.
std::unique_ptr<Kernel> make_strided_kernel(const problem::Problem& problem,
                                            const problem::Setting& setting,
                                            problem::Precision precision);

}  // namespace halocline::stencil::cpu
