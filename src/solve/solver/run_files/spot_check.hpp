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

/// Updates a box of this rank's cells, drawn anew for each check, a second time: by one sweep, or
/// as many as a pass over memory has. Not collective. Takes host memory for the pages that the box
/// touches in every field.
class SpotCheck {
 public:
  /// The parts must outlive it.
  SpotCheck(const Case& the_case, const Grid& grid);

  /// Draws a box, copies the cells that `count` sweeps read for it, after `sweeps` sweeps, and does
  /// them.
  void take(const Level& level, const Level& coefficients, std::int64_t sweeps, std::int64_t count);
  /// Compares the box with the level after `sweeps` sweeps, if one was kept for that.
  /// Returns the first cell that differs, "cell (3, 5) of field 'u' is 1, but the reference gives
  /// 2"; empty if none does.
  std::string compare(const Level& level, std::int64_t sweeps);
  /// Forgets the box that was taken.
  void give_up() { taken_for_.reset(); }

  std::int64_t sweeps_checked() const { return sweeps_checked_; }
  /// Of all sweeps checked. 0: the part is too narrow for cells that read this rank's cells alone.
  std::int64_t cells_checked() const { return cells_checked_; }

 private:
  Box draw(std::int64_t sweeps, std::int64_t count) const;

  const Case& case_;
  const Grid& grid_;
  std::optional<std::int64_t> taken_for_;  // a number of sweeps
  std::int64_t count_ = 0;                 // the last of them, done by the reference
  Box box_;
  Level expected_;
  std::int64_t sweeps_checked_ = 0, cells_checked_ = 0;
};

}  // namespace halocline::solver
