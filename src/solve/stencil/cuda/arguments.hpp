// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of the kernels: requirements on fields, and norms.

#include <cstdint>

#include <halocline/field.hpp>

#include "stencil/cuda/work.cuh"
#include "stencil/sweep.hpp"

namespace halocline::stencil::cuda {

/// Whether kernels can read the field in vectors: contiguous rows, equally aligned to 16 bytes, in
/// memory that Halocline allocated, which holds the rest of a row's last vector.
inline bool has_rows_of_vectors(const FieldStorage& field, std::int64_t element_bytes) {
  if (!field.as_strided()) return false;
  const Strides& step = field.strides();
  const auto aligned = [&](std::int64_t cells) {
    return cells * element_bytes % vector_bytes == 0;
  };
  return field.allocated_bytes() > 0 && step.x == 1 && aligned(step.y) && aligned(step.z) &&
         reinterpret_cast<std::uintptr_t>(field.first_owned()) % vector_bytes == 0;
}

inline Norm norm_of(halocline::Norm kind) {
  return kind == halocline::Norm::none  ? Norm::none
         : kind == halocline::Norm::max ? Norm::max
                                        : Norm::l2;
}

inline ReduceWork work_of(const NormReduction& reduction) {
  return {.parts = reduction.parts,
          .kind = norm_of(reduction.kind),
          .norm = reduction.norm,
          .sum = reduction.sum,
          .stop = reduction.stop,
          .stop_seen = reduction.stop,
          .tolerance = reduction.tolerance,
          .least = reduction.least,
          .all_reduce =
              reduction.all_reduce != nullptr ? *reduction.all_reduce : device::AllReducePort{},
          .share = reduction.share,
          .shares = reduction.shares,
          .ranks = reduction.ranks};
}

}  // namespace halocline::stencil::cuda
