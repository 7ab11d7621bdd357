// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layout of ordinary arrays: one stride per axis and one between components.

#include <array>

#include <halocline/field.hpp>

namespace halocline::field {

/// Cells at `first_owned + sum of coordinate * stride`. Strides are in bytes here.
class StridedLayout final : public Layout {
 public:
  StridedLayout(const FieldShape& shape, int axes, std::array<std::int64_t, 4> stride_bytes,
                std::int64_t first_owned_offset);

  std::vector<Run> runs(const Box& box) const override;
  std::string order() const override;
  std::optional<Strides> as_strided() const override;

 private:
  Int3 origin_;
  int axes_;
  std::int64_t components_, element_bytes_;
  std::array<std::int64_t, 4> stride_bytes_;  // x, y, z, component
  std::int64_t first_owned_offset_;
  std::array<int, 4> ascending_;  // indices into stride_bytes_, fastest first
};

/// Strides in elements for rows padded so that every row's first owned cell starts a cache line.
Strides padded_strides(const FieldShape& shape, int axes);

}  // namespace halocline::field
