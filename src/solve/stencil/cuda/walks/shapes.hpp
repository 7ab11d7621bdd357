// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which kernels sweeps of an update take.

#include <optional>
#include <vector>

#include "problem/model.hpp"
#include "stencil/cuda/text/printed.hpp"

namespace halocline::stencil::cuda {

/// Returns shapes of walks to try, the fastest first (bench_gpu_formula_shapes): with fewer layers
/// ahead or rows, a walk takes fewer registers. None where kernels update cell by cell.
std::vector<WalkShape> shapes_for(const problem::Model& model, const PrintedUpdate& update,
                                  bool in_bricks);

/// Returns a shape as kernels with that norm take it. Without one, 8 layers ahead are better than
/// 12 while the fields are in the cache: laplace on 2048x2048 cells in fp32 on an H200 takes some 3
/// % less; on 16384x16384, which are not, 0.4 % more (bench/results/h200 and h200x2,
/// gpu-prebuilt.txt).
WalkShape shape_with(WalkShape shape, halocline::Norm norm);

/// Returns the first of argument_rooms that the operands fit in.
std::size_t room_number_for(const Operands& operands);

/// Returns the field whose halos of neighbours walks can store, if there is one.
std::optional<std::size_t> pushed_by_walks(const problem::Model& model);

/// Returns the norm of the persistent kernels that run batches with this one: those without a norm
/// run by the kernels of any.
halocline::Norm norm_of_persist(halocline::Norm norm);

/// Rows of a persistent kernel's tiles, from which sweeps choose. In 3-D a block shares all its
/// rows, and has no room for those of 16.
std::vector<int> rows_of_persist(int axes);

}  // namespace halocline::stencil::cuda
