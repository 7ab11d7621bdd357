// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which kernels sweeps of an update take.

#include <optional>
#include <vector>

#include "problem/model.hpp"
#include "stencil/cuda/printed.hpp"

namespace halocline::stencil::cuda {

/// Returns shapes of walks to try, the fastest first (bench_gpu_formula_shapes): with fewer layers
/// ahead or rows, a walk takes fewer registers. None where kernels update cell by cell.
std::vector<WalkShape> shapes_for(const problem::Model& model, const PrintedUpdate& update,
                                  bool in_bricks);

/// Returns the first of argument_rooms that the operands fit in.
std::size_t room_number_for(const Operands& operands);

/// Returns the field whose halos of neighbours walks can store, if there is one.
std::optional<std::size_t> pushed_by_walks(const problem::Model& model);

/// Rows of a persistent kernel's tiles, from which sweeps choose. In 3-D a block shares all its
/// rows, and has no room for those of 16.
std::vector<int> rows_of_persist(int axes);

}  // namespace halocline::stencil::cuda
