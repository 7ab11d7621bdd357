// SPDX-License-Identifier: Apache-2.0
#pragma once
// Start values and coefficients: expressions evaluated for rows of cells.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "problem/model.hpp"

namespace halocline::problem {

/// Evaluates an expression without fields in double precision, at time 0. What depends on x alone
/// is computed once. Threads may share it.
class RowValues {
 public:
  /// For cells whose x lies in that range. The model must outlive it.
  RowValues(const Model& model, Ref expression, std::int64_t lower_x, std::int64_t upper_x);

  /// Writes the values of `count` cells from `first` on along x.
  void row(Int3 first, std::int64_t count, double* values) const;

 private:
  /// A node, with its operands' places in `parts_`, and what its value depends on.
  struct Part {
    Node node;
    std::array<std::size_t, 3> operands{};
    bool on_x = false, on_row = false;
    std::vector<double> table = {};  ///< one value for each x, or a single one; none if on_row
  };
  void add(const Node& node, const std::array<std::size_t, 3>& operands);
  void fill_table(Part& part, std::int64_t cells) const;

  const Model& model_;
  std::int64_t lower_x_;
  std::vector<Part> parts_;  // operands first, the expression last
};

}  // namespace halocline::problem
