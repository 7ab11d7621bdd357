// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model's formulas, interpreted for one cell of some fields.

#include <array>
#include <cstdint>
#include <vector>

#include "problem/cell_position.hpp"
#include "problem/interpreter.hpp"

namespace halocline::stencil {

/// A cell of a field or coefficient, and the elements from it to its neighbours along each axis.
template <class Real>
struct CellOf {
  const Real* cell;
  Int3 step;
};

/// A cell with the values around it: of the fields, then of the coefficients.
template <class Real>
struct InterpretedCell : problem::CellPosition {
  const std::vector<CellOf<Real>>& cells;

  InterpretedCell(const problem::CellPosition& position, const std::vector<CellOf<Real>>& all)
      : CellPosition(position), cells(all) {}
  Real access(int symbol, const std::array<std::int8_t, 3>& offset) const {
    const CellOf<Real>& one = cells[static_cast<std::size_t>(symbol)];
    return one.cell[offset[0] * one.step.x + offset[1] * one.step.y + offset[2] * one.step.z];
  }
};

}  // namespace halocline::stencil
