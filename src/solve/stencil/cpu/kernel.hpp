// SPDX-License-Identifier: Apache-2.0
#pragma once
// The innermost work of a sweep: one block of cells in one thread.

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

/// Whether results go through the caches or past them. Past them saves reading every line
/// before it is written, but then it has to come from memory when it is next needed.
enum class Stores { cached, streamed };

/// Where a block leaves its part of the norm.
struct BlockNorm {
  Norm kind;
  double max = 0;              ///< kind max: raised
  double* row_sums = nullptr;  ///< kind l2: set, one per row of the block
  std::int64_t plane = 0;      ///< from one plane's first row to the next one's
};

/// A formula compiled for one kind of vectors. May be shared by threads.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Streamed stores are in order with later ones only after flush_stores().
  virtual void update(const Block& block, Stores stores, BlockNorm& norm) const = 0;
};

void flush_stores();

/// The larger one; not a number if either is.
inline double larger(double a, double b) { return a > b || a != a ? a : b; }

using MakeKernel = std::unique_ptr<Kernel> (*)(const problem::Problem&, const problem::Setting&,
                                               problem::Precision);

/// Vectors of one width.
struct Level {
  std::string_view name;
  MakeKernel make;  ///< for rows whose cells are next to each other
};

/// What this build knows and this processor has, narrowest first.
std::span<const Level> levels();

/// Whether this build knows a level of that name that this processor does not have.
bool is_level_elsewhere(std::string_view name);

/// Makes a kernel for any strides, by plain loops.
std::unique_ptr<Kernel> make_strided_kernel(const problem::Problem& problem,
                                            const problem::Setting& setting,
                                            problem::Precision precision);

}  // namespace halocline::stencil::cpu
