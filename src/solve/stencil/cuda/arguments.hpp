// SPDX-License-Identifier: Apache-2.0
#pragma once
// What kernels that load vectors ask of a field, and norms as they see them.

#include <cstdint>

#include <halocline/field.hpp>

#include "stencil/cuda/work.cuh"
#include "stencil/sweep.hpp"

namespace halocline::stencil::cuda {

inline constexpr std::int64_t vector_bytes = 16;

/// Whether rows of vectors can be read: rows without gaps, each on the same side of a boundary,
/// in memory of ours, which has room for the rest of the last vector.
inline bool has_rows_of_vectors(const FieldStorage& field, std::int64_t element_bytes) {
  const Strides& step = field.strides();
  const auto aligned = [&](std::int64_t cells) {
    return cells * element_bytes % vector_bytes == 0;
  };
  return field.allocated_bytes() > 0 && step.x == 1 && aligned(step.y) && aligned(step.z) &&
         reinterpret_cast<std::uintptr_t>(field.first_owned()) % vector_bytes == 0;
}

inline Norm norm_of(problem::NormKind kind) {
  return kind == problem::NormKind::none  ? Norm::none
         : kind == problem::NormKind::max ? Norm::max
                                          : Norm::l2;
}

inline SettleWork work_of(const Settling& settling) {
  return {.parts = settling.parts,
          .kind = norm_of(settling.kind),
          .norm = settling.norm,
          .sum = settling.sum,
          .stop = settling.stop,
          .unless = settling.stop,
          .tolerance = settling.tolerance,
          .meeting = settling.meeting != nullptr ? *settling.meeting : device::Meeting{}};
}

}  // namespace halocline::stencil::cuda
