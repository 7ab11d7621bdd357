// SPDX-License-Identifier: Apache-2.0
#pragma once
// The updates of a model as statements of C++, which GPUs and CPUs compile: an operation for each
// node, in words that the headers of each define (cuda/text/generated.cuh, cpu/text/vectors.hpp).

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "problem/model.hpp"

namespace halocline::stencil {

/// Numbers of an update that its kernels get as arguments, so that one text and one kernel serve
/// all of their values: where no more than these are only added, subtracted and multiplied. All
/// others are in the text, for compilers make less of `u / 4` without the 4.
inline constexpr std::size_t most_constants = 4;

/// The fields and coefficients (behind the fields) that an update reads, and the fields that it
/// writes, by number, in the order of its inputs and outputs.
struct Operands {
  std::vector<std::size_t> inputs, outputs;
};

/// Numbers of nodes, by which a text names them: v0, v1, ...
using Numbers = std::map<problem::Ref, int>;

/// Numbers nodes as formulas come to them, operands first: the same for formulas that are alike,
/// whatever else their trees hold.
Numbers numbers_of(const problem::Tree& tree, const std::vector<problem::Ref>& formulas);

/// Returns those nodes in the order of their numbers.
std::vector<problem::Ref> in_order(std::vector<problem::Ref> nodes, const Numbers& numbers);

/// Returns a number in the source, by its bits.
std::string literal(double value, Precision precision);

/// Returns the index at an offset from `here`, and the coordinate there.
std::string index_text(const problem::Model& model, const problem::Node& node,
                       const std::string& here);
std::string coordinate_text(const problem::Model& model, const problem::Node& node,
                            const std::string& here);

/// Returns statements that compute nodes, in this order; `leaf` the texts of those without
/// operands.
std::string statements(const problem::Tree& tree, const std::vector<problem::Ref>& nodes,
                       const Numbers& numbers,
                       const std::function<std::string(problem::Ref)>& leaf);

/// The text of a model's updates. Updates that are alike have the same text, whatever else their
/// models have. In it, u is what reads cells, `constants` the arguments, `values` the results.
class UpdateText {
 public:
  /// The model must outlive it.
  explicit UpdateText(const problem::Model& model);

  const Operands& operands() const { return operands_; }
  /// What the updates need, operands first.
  const std::vector<problem::Ref>& nodes() const { return nodes_; }
  /// The arguments, one behind the other.
  std::array<double, most_constants> constants() const;

  std::string variable(problem::Ref node) const;
  /// Returns statements that compute nodes of these.
  std::string computed(const std::vector<problem::Ref>& nodes) const;
  /// Returns statements that set `values`, one for each output.
  std::string results() const;
  /// Returns statements that return the new, and the old, value of the field that has this number
  /// in the norm: `number`, a constant.
  std::string now() const;
  std::string before() const;

  std::size_t input_of(std::size_t symbol) const;
  int output_of(std::size_t field) const;

 private:
  void find_inputs();
  std::string leaf(problem::Ref at) const;
  std::string access(std::size_t symbol, const std::array<std::int8_t, 3>& offset = {}) const;
  template <class ValueOf>
  std::string each_normed(const ValueOf& value_of) const;

  const problem::Model& model_;
  Numbers numbers_;
  std::vector<problem::Ref> nodes_, constants_;  // in the order of their numbers
  Operands operands_;
};

/// Returns the type of a model's cells.
const char* real_of(const problem::Model& model);

}  // namespace halocline::stencil
