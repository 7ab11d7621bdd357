// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds wrong bits during a run: some cells of a sweep, updated again by the reference.

#include <cstdint>
#include <optional>
#include <string>

#include <halocline/box.hpp>
#include <halocline/grid.hpp>

#include "solver/case.hpp"
#include "solver/engine/levels.hpp"

namespace halocline::solver {

/// Updates a box of this rank's cells, drawn anew for each sweep that is checked, a second time.
/// Not collective. Takes host memory for the pages that the box touches in every field.
class SpotCheck {
 public:
  /// The parts must outlive it.
  SpotCheck(const Case& the_case, const Grid& grid);

  /// Draws a box and copies the cells that a sweep reads for it, after `sweeps` sweeps.
  void take(const Level& level, const Level& coefficients, std::int64_t sweeps);
  /// Compares the box with the level after `sweeps` sweeps, if one was kept one sweep before.
  /// Returns the first cell that differs, "cell (3, 5) of field 'u' is 1, but the reference gives
  /// 2"; empty if none does.
  std::string compare(const Level& level, std::int64_t sweeps);

  std::int64_t sweeps_checked() const { return sweeps_checked_; }
  /// Of all sweeps checked. 0: the part is too narrow for cells that read this rank's cells alone.
  std::int64_t cells_checked() const { return cells_checked_; }

 private:
  Box draw(std::int64_t sweeps) const;

  const Case& case_;
  const Grid& grid_;
  std::optional<std::int64_t> taken_at_;
  Box box_;
  Level expected_;
  std::int64_t sweeps_checked_ = 0, cells_checked_ = 0;
};

}  // namespace halocline::solver
