// SPDX-License-Identifier: Apache-2.0
#include "solver/run_files/spot_check.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/hash.hpp"
#include "field/cells.hpp"
#include "field/elements.hpp"
#include "program/copy_cells.hpp"
#include "solver/verify.hpp"
#include "stencil/sweep.hpp"

namespace halocline::solver {
namespace {

/// The cells of a box along each axis, for 1, 2 and 3 axes: 16384 in all, which the reference
/// updates in 0.6 ms (laplace) to 16 ms (box125) on an EPYC.
constexpr std::array<std::array<std::int64_t, 3>, 3> largest{
    {{16384, 1, 1}, {256, 64, 1}, {64, 16, 16}}};

Box grown(Box box, const HaloWidths& reach, std::int64_t sweeps) {
  for (int axis = 0; axis < 3; ++axis) {
    box.lower[axis] -= sweeps * reach.lower[axis];
    box.upper[axis] += sweeps * reach.upper[axis];
  }
  return box;
}

/// Copies of the cells in `box`, in rows on the host; the other cells take no memory.
FieldStorage part_of(const FieldStorage& field, const Grid& grid, const Box& box) {
  FieldStorage part = program::make_rows(grid, field);
  program::copy_box(field, part, box);
  return part;
}

}  // namespace

SpotCheck::SpotCheck(const Case& the_case, const Grid& grid) : case_(the_case), grid_(grid) {}

/// Draws a box that reads owned cells alone: halos and ghosts have values of the sweep before.
Box SpotCheck::draw(std::int64_t sweeps, std::int64_t count) const {
  const Box room = grown(grid_.owned(), case_.model->reach(), -count);
  if (room.empty()) return {};
  std::uint64_t drawn = mix(case_.model->seed ^ mix(static_cast<std::uint64_t>(sweeps)) ^
                            static_cast<std::uint64_t>(grid_.rank()));
  Box box;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t extent = room.upper[axis] - room.lower[axis];
    const std::int64_t cells = std::min(
        extent,
        largest[static_cast<std::size_t>(grid_.axes() - 1)][static_cast<std::size_t>(axis)]);
    drawn = mix(drawn);
    box.lower[axis] =
        room.lower[axis] +
        static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(extent - cells + 1));
    box.upper[axis] = box.lower[axis] + cells;
  }
  return box;
}

void SpotCheck::take(const Level& level, const Level& coefficients, std::int64_t sweeps,
                     std::int64_t count) {
  taken_for_ = sweeps + count;
  count_ = count;
  box_ = draw(sweeps, count);
  if (box_.empty()) return;
  const problem::Model& model = *case_.model;
  const Box read = grown(box_, model.reach(), count);
  Level now, factors;
  for (const FieldStorage& field : level) now.push_back(part_of(field, grid_, read));
  for (const FieldStorage& field : coefficients) factors.push_back(part_of(field, grid_, read));
  const auto sweep = stencil::find_backend("reference").make(model, {});
  for (std::int64_t done = 0; done < count; ++done) {
    Level next;
    for (std::size_t f = 0; f < level.size(); ++f) {
      const auto& follows = model.fields[f].follows;
      next.push_back(follows ? now[*follows] : program::make_rows(grid_, level[f]));
    }
    sweep->run({.in = now,
                .out = next,
                .region = grown(box_, model.reach(), count - 1 - done),
                .coefficients = factors,
                .first_sweep = sweeps + done,
                .clock = {.dt = case_.dt()}},
               Stream::host());
    now = std::move(next);
  }
  expected_ = std::move(now);
}

std::string SpotCheck::compare(const Level& level, std::int64_t sweeps) {
  if (!taken_for_ || *taken_for_ != sweeps) return "";
  taken_for_.reset();
  sweeps_checked_ += count_;
  if (box_.empty()) return "";
  cells_checked_ += box_.cells();
  const auto bytes = static_cast<std::size_t>(case_.element_bytes());
  for (std::size_t f = 0; f < level.size(); ++f) {
    const FieldStorage ours = part_of(level[f], grid_, box_);
    for (Int3 at = box_.lower; at.z < box_.upper.z; ++at.z)
      for (at.y = box_.lower.y; at.y < box_.upper.y; ++at.y)
        for (at.x = box_.lower.x; at.x < box_.upper.x; ++at.x) {
          if (std::memcmp(field::address_of(ours, at), field::address_of(expected_[f], at),
                          bytes) == 0)
            continue;
          return fmt::format("cell {} of field '{}' is {:.17g}, but the reference gives {:.17g}",
                             cell_text(at, grid_.axes()), case_.model->fields[f].name,
                             value_of(ours, at), value_of(expected_[f], at));
        }
  }
  return "";
}

}  // namespace halocline::solver
