// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of the kernels: requirements on fields, and norms.

#include <cstddef>
#include <cstdint>

#include <halocline/field.hpp>

#include "field/cells.hpp"
#include "stencil/cuda/work.cuh"
#include "stencil/pass.hpp"

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

inline halocline::Norm kind_of(Norm kind) {
  return kind == Norm::none  ? halocline::Norm::none
         : kind == Norm::max ? halocline::Norm::max
                             : halocline::Norm::l2;
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
          .ranks = reduction.ranks,
          .sweeps = reduction.sweeps};
}

/// Returns the cells from the 16-byte boundary at or before `cell` to `cell`.
template <class Real>
int lead_of(const std::byte* cell) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(cell) % vector_bytes / sizeof(Real));
}

/// Returns what kernels know of a field whose cells they take from the region's first on, or in
/// bricks from the first owned one.
template <class Cell>
Array<Cell> array_of(const FieldStorage& field, const Box& region) {
  Array<Cell> array{};
  if (field.as_bricks()) {
    array.cell = reinterpret_cast<Cell*>(field.first_owned());
    return array;
  }
  array.cell = reinterpret_cast<Cell*>(field::address_of(field, region.lower));
  for (int axis = 0; axis < 3; ++axis) array.step[axis] = field::steps_of(field)[axis];
  return array;
}

/// Returns the range of `box` counted from the first cell of a region.
inline Range range_in(const Box& region, const Box& box) {
  Range range{};
  for (int axis = 0; axis < 3; ++axis) {
    range.lower[axis] = box.lower[axis] - region.lower[axis];
    range.upper[axis] = box.upper[axis] - region.lower[axis];
  }
  return range;
}
inline Range owned_within(const Box& region, const Box& owned) {
  return range_in(region, intersect(region, owned));
}

/// Returns field number `number` or, behind the fields, a coefficient.
inline const FieldStorage& input_of(Fields fields, Fields coefficients, std::size_t number) {
  return number < fields.size() ? fields[number] : coefficients[number - fields.size()];
}

}  // namespace halocline::stencil::cuda
