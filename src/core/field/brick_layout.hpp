// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layout of bricks: boxes of one size, the cells of each next to each other.

#include <halocline/field.hpp>

namespace halocline::field {

/// Bricks that begin at the first owned cell and cover all held ones; those at the ends are whole
/// in memory, whatever part of them is held. Components of a cell are adjacent. Boxes are listed as
/// those of rows are, x first: which cells share a brick differs from rank to rank.
class BrickLayout final : public Layout {
 public:
  BrickLayout(const FieldShape& shape, const Extents& brick);

  std::vector<Run> runs(const Box& box) const override;
  std::string order() const override;
  std::optional<Bricks> as_bricks() const override { return bricks_; }

  std::int64_t bytes() const { return bytes_; }
  /// Returns the offset of the first owned cell.
  std::int64_t first_owned() const { return first_owned_; }

 private:
  int axes_;
  Int3 origin_;
  std::int64_t components_, element_bytes_;
  Bricks bricks_{};
  std::int64_t bytes_ = 0, first_owned_ = 0;
};

}  // namespace halocline::field
