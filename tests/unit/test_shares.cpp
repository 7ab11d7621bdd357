// SPDX-License-Identifier: Apache-2.0
// Checksums and sums of a field are the same wherever its cells lie.

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "field/cells.hpp"
#include "program/shares.hpp"

namespace halocline::program {
namespace {

template <class Real>
class SharesOf : public testing::Test {
 protected:
  static constexpr Int3 cells{13, 9, 5};

  SharesOf() : grid_(0, 1, {.cells = {cells.x, cells.y, cells.z}}) {
    const auto count = static_cast<std::size_t>(cells.x * cells.y * cells.z);
    columns_.resize(count);
    fields_.emplace_back(Field<Real>(grid_));
    fields_.emplace_back(Field<Real>(grid_, columns_.data(),
                                     {.x = cells.y * cells.z, .y = cells.z, .z = 1}, {.halo = 0}));
    fields_.emplace_back(grid_, static_cast<std::int64_t>(sizeof(Real)),
                         FieldOptions{.brick = {4, 4, 2}});
    for (std::int64_t z = 0; z < cells.z; ++z)
      for (std::int64_t y = 0; y < cells.y; ++y)
        for (std::int64_t x = 0; x < cells.x; ++x)
          set({x, y, z}, Real(1) / static_cast<Real>(1 + x + 20 * y + 300 * z));
  }

  void set(Int3 cell, Real value) {
    for (const FieldStorage& field : fields_)
      field::cells_of<Real>(field)(cell.x, cell.y, cell.z) = value;
  }

  Grid grid_;
  std::vector<Real> columns_;
  std::vector<FieldStorage> fields_;  // in rows, in columns, in bricks
};

using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(SharesOf, Reals);

TYPED_TEST(SharesOf, AreTheSameInEveryLayout) {
  const FieldStorage& rows = this->fields_[0];
  for (const FieldStorage& field : this->fields_) {
    EXPECT_EQ(checksum(field, this->grid_, 2), checksum(rows, this->grid_, 1));
    EXPECT_EQ(sum(field, 2), sum(rows, 1));
    EXPECT_EQ(exact_sum(field, 2).total(), exact_sum(rows, 1).total());
    EXPECT_TRUE(is_finite(field, 2));
    EXPECT_EQ(first_not_finite(field, this->grid_), std::nullopt);
  }
}

TYPED_TEST(SharesOf, FindTheFirstCellThatIsNotFinite) {
  using Limits = std::numeric_limits<TypeParam>;
  this->set({12, 8, 4}, Limits::quiet_NaN());
  this->set({5, 2, 3}, Limits::infinity());
  this->set({7, 2, 3}, Limits::infinity());
  for (const FieldStorage& field : this->fields_) {
    EXPECT_FALSE(is_finite(field, 2));
    EXPECT_EQ(first_not_finite(field, this->grid_), 5 + 13 * (2 + 9 * 3));
  }
}

}  // namespace
}  // namespace halocline::program
