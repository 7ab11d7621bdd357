// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ghost cells: those beyond the sides of the domain, which boundaries give values.

#include <array>
#include <memory>
#include <vector>

#include <halocline/brick_view.hpp>
#include <halocline/grid.hpp>
#include <halocline/stream.hpp>

#include "problem/cell_position.hpp"
#include "problem/interpreter.hpp"
#include "problem/model.hpp"
#include "stencil/fields.hpp"
#include "stencil/graph_clock.hpp"

namespace halocline::stencil {

/// The values of a rule beyond a side, evaluated where they are not constants.
class RuleValues {
 public:
  /// The model must outlive it.
  RuleValues(const problem::Model& model, const problem::SideRule& rule, int axis, int end,
             double time);
  /// For a ghost cell.
  const std::array<double, 3>& at(Int3 cell);
  bool are_constant() const { return are_constant_; }

 private:
  void evaluate();

  const problem::SideRule& rule_;
  std::size_t count_;
  problem::CellPosition position_;
  problem::Interpreter<double> interpreter_;
  bool are_constant_ = false;
  std::array<double, 3> values_{};
};

/// Returns the cells of a box beyond a side that a field's rule there fills: those that later sides
/// fill are not among them.
Box ghosts_in(Box box, const problem::Model& model, std::size_t field, int axis, int end);

/// Cells of a field: the address of one, and how to reach others.
struct GhostCells {
  std::byte* first;
  Int3 origin;
  Bricks places;
  std::int64_t element_bytes;
};

/// Writes those ghosts beyond a side that are in `box`, for a sweep at `time`.
void fill_ghosts(const problem::Model& model, std::size_t field, int axis, int end, const Box& box,
                 const GhostCells& cells, double time);

/// The ghost cells of a rank: the sides of x, then those of y, then those of z, each over all cells
/// that the rank holds, halo and earlier ghosts included. So fields are the same for every process
/// grid.
class Ghosts {
 public:
  /// For fields of that shape. The model must outlive it.
  Ghosts(const problem::Model& model, const Grid& grid, const FieldShape& shape);

  const problem::Model& model() const { return model_; }
  /// Writes the ghosts that never change, in memory that the host reads. Call it once for each
  /// level.
  void fill_fixed(Fields level) const;

  /// Next to owned cells only, whose halos may still be on their way, or next to all held cells,
  /// whose halos have arrived.
  enum class Beside { owned, held };
  struct Side {
    std::size_t field;
    int axis, end;
    const problem::SideRule* rule;
    std::array<Box, 2> cells;  ///< next to owned and next to held cells
    bool changes;              ///< depends on fields or on time: Model::ghosts_change

    const Box& beside(Beside which) const { return cells[which == Beside::owned ? 0 : 1]; }
  };
  /// In the order in which they are filled, field by field.
  const std::vector<Side>& sides() const { return sides_; }
  /// Writes those of a side, for a sweep at `time`, in memory that the host reads.
  void fill(const Side& side, Fields level, double time, Beside beside) const;

 private:
  const problem::Model& model_;
  std::vector<Side> sides_;
};

/// Writes the ghosts that depend on fields or on time, where a backend's sweeps run.
class ChangingGhosts {
 public:
  virtual ~ChangingGhosts() = default;
  /// For a sweep that reads the level, at `time`, or in a graph by its clock. Ordered by `stream`.
  virtual void fill(Fields level, double time, const GraphClock& clock, Ghosts::Beside beside,
                    Stream stream) = 0;
  /// Seconds that it took to compile their rules; 0 if nothing was compiled.
  virtual double compile_seconds() const { return 0; }
};

/// For sweeps on the host. The ghosts must outlive it.
std::unique_ptr<ChangingGhosts> make_host_ghosts(const Ghosts& ghosts);

}  // namespace halocline::stencil
