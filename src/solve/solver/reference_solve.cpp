// SPDX-License-Identifier: Apache-2.0
#include "solver/reference_solve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "field/cells.hpp"
#include "solver/engine/levels.hpp"
#include "stencil/ghosts.hpp"

namespace halocline::solver {
namespace {

/// Copies a layer of held cells across an axis to another layer, in one call: a call on a GPU
/// takes some microseconds, and one call per row took longer than the sweep.
void copy_layer(const FieldStorage& field, int axis, std::int64_t from, std::int64_t to,
                Stream stream) {
  const Box held = field.shape().held();
  const Int3 extent = held.extent();
  const std::int64_t bytes = field.shape().element_bytes;
  const Strides& step = field.strides();
  const auto at = [&](std::int64_t layer) {
    Int3 cell = held.lower;
    cell[axis] = layer;
    return field::address_of(field, cell);
  };
  // Rows along x; for a layer across x, rows of one cell.
  const std::int64_t apart = (axis == 1 ? step.z : step.y) * bytes;
  const std::int64_t count = axis == 0   ? (extent.z - 1) * (step.z / step.y) + extent.y
                             : axis == 1 ? extent.z
                                         : extent.y;
  device::copy_rows(at(to), at(from),
                    {.bytes = axis == 0 ? bytes : extent.x * bytes,
                     .count = count,
                     .to_stride = apart,
                     .from_stride = apart},
                    stream);
}

/// Fills the halo beyond both sides of every periodic axis: x, then y, then z, each over all held
/// cells, so that edges and corners are right.
void wrap(const FieldStorage& field, const Case& the_case, Stream stream) {
  const Box &owned = field.shape().owned, held = field.shape().held();
  for (int axis = 0; axis < the_case.model->axes; ++axis) {
    const std::int64_t cells = owned.upper[axis];
    if (!the_case.grid.periodic[static_cast<std::size_t>(axis)]) continue;
    for (std::int64_t layer = held.lower[axis]; layer < held.upper[axis]; ++layer)
      if (layer < 0 || layer >= cells)
        copy_layer(field, axis, (layer % cells + cells) % cells, layer, stream);
  }
}

/// The norms of sweeps, on the host or on a GPU; the host reads the GPU's only at the end.
class NormList {
 public:
  NormList(const Case& the_case, std::int64_t sweeps, bool on_gpu) : case_(the_case) {
    for (std::int64_t sweep = 0; sweep < sweeps; ++sweep)
      if (the_case.wants_norm(sweep)) norms_.emplace_back(sweep, 0);
    if (!on_gpu) return;
    on_gpu_ = device::allocate(Memory::device, static_cast<std::int64_t>(norms_.size() + 1) *
                                                   std::int64_t{sizeof(double)});
    for (auto& parts : parts_)
      parts = device::allocate(Memory::device, stencil::bytes_of_partial_norms);
  }

  /// Prepares the next sweep, which on a GPU reduces the norm before it.
  void begin(std::int64_t sweep, stencil::Pass& pass) {
    if (on_gpu_ != nullptr) pass.reduction = std::exchange(left_, {});
    if (!case_.wants_norm(sweep)) return;
    pass.norms.kind = case_.norm;
    if (on_gpu_ == nullptr) {
      pass.norms.sum = &norms_[next_].second;
    } else {
      pass.norms.parts = static_cast<stencil::PartialNorms*>(parts_[next_ % 2].get());
      left_ = {.parts = pass.norms.parts,
               .kind = case_.norm,
               .norm = static_cast<double*>(on_gpu_.get()) + next_};
    }
    ++next_;
  }

  void end(stencil::Sweep& sweep, Stream stream) {
    if (left_.parts != nullptr) sweep.reduce(left_, stream);
  }

  /// Returns the norms; all sweeps must be done.
  std::vector<std::pair<std::int64_t, double>> history() {
    std::vector<double> values(norms_.size());
    if (on_gpu_ != nullptr)
      device::copy(values.data(), on_gpu_.get(),
                   static_cast<std::int64_t>(values.size() * sizeof(double)), Stream::host());
    for (std::size_t i = 0; i < norms_.size(); ++i) {
      double& norm = norms_[i].second;
      if (on_gpu_ != nullptr)
        norm = values[i];
      else if (case_.norm == Norm::l2)
        norm = std::sqrt(norm);
    }
    return std::move(norms_);
  }

 private:
  const Case& case_;
  std::vector<std::pair<std::int64_t, double>> norms_;  // on the host, sums until the end
  std::shared_ptr<void> on_gpu_;                        // the norms
  std::array<std::shared_ptr<void>, 2> parts_;
  stencil::NormReduction left_;  // the last norm, not reduced yet
  std::size_t next_ = 0;
};

}  // namespace

bool uses_reference_backend(const Case& the_case, std::int64_t sweeps) {
  // 7 ns each on a core of a Xeon.
  constexpr double most_operations = 1e9;
  const auto operations =
      static_cast<double>(nodes_of(the_case.model->tree, the_case.model->updates()).size());
  return static_cast<double>(the_case.cells()) *
             static_cast<double>(std::max<std::int64_t>(1, sweeps)) * operations <=
         most_operations;
}

ReferenceResult solve_on_one_rank(const Case& the_case, std::int64_t sweeps,
                                  const Reference& reference) {
  GridOptions grid_options = the_case.grid;
  grid_options.process_grid = {};
  const Grid grid(0, 1, grid_options);
  Case in_rows = the_case;
  in_rows.brick = {};
  Levels levels = make_levels(in_rows, grid, 1, reference.memory);
  const Level coefficients = make_coefficients(in_rows, grid, 1, reference.memory);
  const Communicator self = Communicator::self();
  fill_levels(the_case, grid, levels, coefficients, self, reference.sweep.threads);
  const problem::Model& model = *the_case.model;
  const stencil::Ghosts ghosts(model, grid, levels[0][0].shape());
  const auto changing_ghosts =
      model.ghosts_change() ? reference.backend.make_ghosts(ghosts, reference.sweep) : nullptr;
  const auto sweep = reference.backend.make(model, reference.sweep);
  const Stream stream = reference.stream;
  NormList norms(the_case, sweeps, !stream.is_host());

  std::size_t level = 0;
  for (std::int64_t s = 0; s < sweeps; ++s) {
    const std::size_t next = (level + 1) % levels.size();
    for (std::size_t f = 0; f < model.fields.size(); ++f)
      if (model.fields[f].reach.has_neighbours()) wrap(levels[level][f], the_case, stream);
    if (changing_ghosts)
      changing_ghosts->fill(levels[level], the_case.time_of(s), {}, stencil::Ghosts::Beside::held,
                            stream);
    stencil::Pass pass{.in = levels[level],
                       .out = levels[next],
                       .region = grid.owned(),
                       .coefficients = coefficients,
                       .first_sweep = s,
                       .clock = {.dt = the_case.dt()}};
    norms.begin(s, pass);
    sweep->run(pass, stream);
    level = next;
  }
  norms.end(*sweep, stream);
  device::synchronize(stream);
  return {.fields = seen_by_host(levels[level], grid), .norm_history = norms.history()};
}

Reference choose_reference(const Case& the_case, std::int64_t sweeps, const Target& target,
                           const stencil::SweepOptions& sweep) {
  if (uses_reference_backend(the_case, sweeps))
    return {.backend = stencil::find_backend("reference"),
            .sweep = {.threads = 1, .simd = "auto"},
            .memory = Memory::host,
            .stream = Stream::host(),
            .name = "the reference backend on one rank"};
  stencil::SweepOptions singly = sweep;
  singly.sweeps_per_pass = 1;
  return {.backend = *target.backend,
          .sweep = singly,
          .memory = target.memory,
          .stream = target.stream(),
          .name = fmt::format("the {} backend on one rank alone", target.backend->name())};
}

}  // namespace halocline::solver
