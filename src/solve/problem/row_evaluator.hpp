// SPDX-License-Identifier: Apache-2.0
#pragma once
// Start values and coefficients: expressions evaluated for rows of cells.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "problem/model.hpp"

namespace halocline::problem {

/// Evaluates an expression without fields in double precision, at time 0. Parts that depend on x
/// alone are computed once. Threads may share it.
class RowEvaluator {
 public:
  /// For cells whose x lies in that range. The model must outlive it.
  RowEvaluator(const Model& model, Ref expression, std::int64_t lower_x, std::int64_t upper_x);

  /// Writes the values of `count` cells from `first` on along x.
  void evaluate(Int3 first, std::int64_t count, double* values) const;

 private:
  /// A node, with the indices of its operands in `parts_`, and whether it differs along x and from
  /// row to row.
  struct Part {
    Node node;
    std::vector<std::size_t> operands = {};
    bool on_x = false, on_row = false;
    std::vector<double> table = {};  ///< one value for each x, or a single one; none if on_row
  };
  void fill_table(Part& part, std::int64_t cells) const;

  const Model& model_;
  std::int64_t lower_x_;
  std::vector<Part> parts_;  // operands first, the expression last
};

}  // namespace halocline::problem
