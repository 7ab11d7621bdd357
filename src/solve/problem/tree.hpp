// SPDX-License-Identifier: Apache-2.0
#pragma once
// Formulas as trees of typed operations, evaluated as written: the one form that the reference
// interprets, the processor sweeps and GPUs compile.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace halocline::problem {

enum class Op : unsigned char {
  // Leaves.
  constant,    ///< a number
  access,      ///< field or coefficient `symbol` at an offset
  coordinate,  ///< the centre of the cell at an offset, along an axis
  index,       ///< its index, from 0, along an axis
  time,        ///< t
  noise,       ///< noise(n), n = value
  // One operand.
  negate,
  abs,
  sqrt,
  exp,
  log,
  sin,
  cos,
  tanh,
  logical_not,
  // Two operands.
  add,
  subtract,
  multiply,
  divide,
  pow,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  logical_and,
  logical_or,
  // Three operands.
  fma,
  select
};

/// The facts of an operation that the text of expressions needs.
struct OpFacts {
  std::string_view name;  ///< "abs", "select": of a function, its name in the language
  int operands;
  bool is_truth = false;       ///< whether its value is a truth value: for select, and, or, not
  std::string_view sign = {};  ///< of an operator: "+", "and"
  int rank = 8;                ///< of an operator, as in syntax.hpp: higher ones bind more tightly
};
const OpFacts& facts_of(Op op);
inline std::string_view name_of(Op op) { return facts_of(op).name; }
inline int operands_of(Op op) { return facts_of(op).operands; }
inline bool is_truth(Op op) { return facts_of(op).is_truth; }
/// Returns the function of this name, or the operator of two operands of this sign.
std::optional<Op> function_of(std::string_view name);
std::optional<Op> operator_of(std::string_view sign);

/// A node's index in its tree. Operands come before the nodes that use them.
using Ref = std::uint32_t;

struct Node {
  Op op = Op::constant;
  bool is_truth = false;                ///< of a constant; for others see is_truth()
  std::uint8_t symbol = 0;              ///< of an access; the axis of a coordinate or index
  std::array<std::int8_t, 3> offset{};  ///< in cells, x first
  std::array<Ref, 3> operands{};
  double value = 0;  ///< of a constant (a truth value: 0 or 1)
  std::uint16_t depth = 1;
};
inline std::span<const Ref> operands_of(const Node& node) {
  return std::span(node.operands).first(static_cast<std::size_t>(operands_of(node.op)));
}

/// The farthest neighbour that a formula may read, along each axis.
inline constexpr int farthest = 8;
inline constexpr std::size_t most_nodes = 100'000;

/// Makes nodes. Equal nodes are one. Operations on constants alone are evaluated at once, in
/// double precision and as written. Throws std::length_error where a limit is exceeded, with the
/// reason; the caller adds the place.
class Tree {
 public:
  Ref constant(double value);
  Ref truth(bool value);
  Ref access(int symbol, std::array<int, 3> offset);
  Ref coordinate(int axis);
  Ref index(int axis);
  Ref time();
  Ref noise(double number);
  Ref operation(Op op, std::array<Ref, 3> operands);
  Ref operation(Op op, Ref a, Ref b = 0, Ref c = 0) { return operation(op, {a, b, c}); }
  /// a multiplied by itself: ((a*a)*a)..., for 1 <= times <= 16.
  Ref power(Ref a, int times);
  /// The same formula for the cell at an offset.
  Ref shifted(Ref node, std::array<int, 3> by);

  const Node& operator[](Ref node) const { return nodes_[node]; }
  std::size_t size() const { return nodes_.size(); }
  bool is_constant(Ref node) const { return nodes_[node].op == Op::constant; }

 private:
  Ref add(Node node);
  static Node moved_leaf(Node leaf, const std::array<int, 3>& by);

  struct Less {
    bool operator()(const Node& a, const Node& b) const;
  };
  std::vector<Node> nodes_;
  std::map<Node, Ref, Less> known_;
  std::map<std::pair<Ref, std::array<int, 3>>, Ref> shifted_;
};

/// The nodes that some formulas need, operands first.
std::vector<Ref> nodes_of(const Tree& tree, std::span<const Ref> formulas);

/// How far formulas read: the largest offset below and above, by axis, of one field or coefficient.
struct Reach {
  std::array<int, 3> lower{}, upper{};
  bool is_read = false;

  bool has_neighbours() const;
  void include(const std::array<std::int8_t, 3>& offset);
};
/// Returns the reach of every symbol up to `symbols`.
std::vector<Reach> reach_of(const Tree& tree, std::span<const Ref> formulas, std::size_t symbols);

}  // namespace halocline::problem
