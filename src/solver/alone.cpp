#include "solver/alone.hpp"

#include <cmath>
#include <cstring>

#include "base/recorder.hpp"
#include "solver/start.hpp"
#include "solver/time_loop.hpp"

namespace halocline::solver {
namespace {

void copy_cell(const FieldStorage& field, Int3 from, Int3 to) {
  const std::int64_t bytes = field.shape().element_bytes;
  const Strides& step = field.strides();
  const auto at = [&](Int3 cell) {
    const Int3 d = cell - field.shape().owned.lower;
    return field.first_owned() + (d.x * step.x + d.y * step.y + d.z * step.z) * bytes;
  };
  std::memcpy(at(to), at(from), static_cast<std::size_t>(bytes));
}

/// Fills the halo beyond both faces of every periodic axis, cell by cell.
void wrap_faces(const FieldStorage& field, const Case& the_case) {
  const Box& all = field.shape().owned;
  for (int axis = 0; axis < the_case.setting.axes; ++axis) {
    if (!the_case.grid.periodic[static_cast<std::size_t>(axis)]) continue;
    Box face = all;
    face.upper[axis] = face.lower[axis] + 1;
    const std::int64_t cells = all.upper[axis] - all.lower[axis];
    for (auto z = face.lower.z; z < face.upper.z; ++z)
      for (auto y = face.lower.y; y < face.upper.y; ++y)
        for (auto x = face.lower.x; x < face.upper.x; ++x) {
          const Int3 first{x, y, z};
          Int3 last = first, below = first, above = first;
          last[axis] += cells - 1;
          below[axis] -= 1;
          above[axis] += cells;
          copy_cell(field, last, below);
          copy_cell(field, first, above);
        }
  }
}

}  // namespace

AloneResult solve_alone(const Case& the_case, std::int64_t sweeps, const stencil::Backend& backend,
                        const stencil::SweepOptions& options) {
  GridOptions grid_options = the_case.grid;
  grid_options.process_grid = {};
  const Grid grid(0, 1, grid_options);
  std::array<FieldStorage, 2> levels = make_levels(the_case, grid, 1);
  fill_levels(the_case, grid, levels, Communicator::self(), options.threads);
  const auto sweep = backend.make(*the_case.problem, the_case.setting, the_case.precision, options);

  AloneResult result{levels[0], {}, 0, 0};
  std::size_t level = 0;
  auto start = Clock::now();
  for (std::int64_t s = 0; s < sweeps; ++s) {
    double norm = 0;
    const bool wants_norm = the_case.wants_norm(s);
    wrap_faces(levels[level], the_case);
    sweep->run({.in = levels[level],
                .out = levels[1 - level],
                .region = grid.owned(),
                .norm = wants_norm ? the_case.norm : problem::NormKind::none,
                .norm_sum = &norm},
               Stream::host());
    if (wants_norm)
      result.norm_history.emplace_back(
          s, the_case.norm == problem::NormKind::l2 ? std::sqrt(norm) : norm);
    level = 1 - level;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (s == 0) {
      result.first_sweep_seconds = seconds;
      start = Clock::now();
    } else {
      result.loop_seconds = seconds;
    }
  }
  result.field = levels[level];
  return result;
}

}  // namespace halocline::solver
