// SPDX-License-Identifier: Apache-2.0
#pragma once
// The updates of a model as a list of operations on tiles of cells, for kernels that interpret it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "problem/model.hpp"

namespace halocline::stencil::cpu {

/// An operand of an operation.
struct Operand {
  enum class Kind : unsigned char {
    number,    ///< the same for all cells
    row,       ///< one value for each row: depends on y, z and t alone
    cells,     ///< a field or coefficient at an offset
    register_  ///< the result of an earlier operation
  };
  Kind kind = Kind::number;
  std::size_t index = 0;
};

/// An operation on the result r in the same pass, with one more operand c.
enum class SecondOp : unsigned char { nothing, add, subtract, subtract_from, multiply };

/// Computes a register for each cell of a tile: an operation, or two in one pass, and a factor.
struct Instruction {
  problem::Op op;
  std::array<Operand, 3> from{};  ///< of a pair of operations, the third is the second one's other
  std::size_t to = 0;
  int offset = 0;                       ///< of a coordinate or index along x
  SecondOp second = SecondOp::nothing;  ///< r + c, r - c, c - r, r * c
  std::optional<std::size_t> factor{};  ///< a number, by which the result is multiplied last
};

struct Access {
  std::size_t symbol;  ///< a field, or behind the fields a coefficient
  std::array<std::int8_t, 3> offset;
};

/// The new values of a field.
struct Output {
  std::size_t field;
  Operand from;
};

struct Tape {
  std::vector<double> numbers;
  std::vector<problem::Ref> rows;  ///< nodes with one value for each row
  std::vector<Access> accesses;
  std::vector<Instruction> instructions;
  std::size_t registers = 0;
  std::vector<Output> outputs;
};

/// Each node is one operation, computed once and rounded by itself; an operand of only one
/// sum, difference or product may be computed in its pass. Registers are used again once
/// nothing reads them any more.
Tape tape_of(const problem::Model& model);

}  // namespace halocline::stencil::cpu
