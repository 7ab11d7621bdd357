#include "solver/alone.hpp"

#include <cmath>

#include "base/recorder.hpp"
#include "solver/levels.hpp"
#include "solver/norm_slot.hpp"

namespace halocline::solver {
namespace {

/// Copies a box of one layer of cells to another of the same extent: rows of rows.
void copy_layer(const FieldStorage& field, const Box& from, Int3 to, Stream stream) {
  const std::int64_t bytes = field.shape().element_bytes;
  const Strides& step = field.strides();
  const auto at = [&](Int3 cell) {
    const Int3 d = cell - field.shape().owned.lower;
    return field.first_owned() + (d.x * step.x + d.y * step.y + d.z * step.z) * bytes;
  };
  const Int3 extent = from.extent();
  for (std::int64_t z = 0; z < extent.z; ++z)
    device::copy_rows(at(to + Int3{0, 0, z}), at(from.lower + Int3{0, 0, z}),
                      {.bytes = extent.x * bytes,
                       .count = extent.y,
                       .to_stride = step.y * bytes,
                       .from_stride = step.y * bytes},
                      stream);
}

/// Fills the halo beyond both faces of every periodic axis.
void wrap_faces(const FieldStorage& field, const Case& the_case, Stream stream) {
  const Box& all = field.shape().owned;
  for (int axis = 0; axis < the_case.setting.axes; ++axis) {
    if (!the_case.grid.periodic[static_cast<std::size_t>(axis)]) continue;
    Box first = all, last = all;
    first.upper[axis] = first.lower[axis] + 1;
    last.lower[axis] = last.upper[axis] - 1;
    Int3 below = first.lower, above = last.lower;
    below[axis] -= 1;
    above[axis] += 1;
    copy_layer(field, last, below, stream);
    copy_layer(field, first, above, stream);
  }
}

double norm_of(const Case& the_case, double sum) {
  return the_case.norm == problem::NormKind::l2 ? std::sqrt(sum) : sum;
}

}  // namespace

AloneResult solve_alone(const Case& the_case, std::int64_t sweeps, const AloneOptions& options) {
  GridOptions grid_options = the_case.grid;
  grid_options.process_grid = {};
  const Grid grid(0, 1, grid_options);
  Levels levels = make_levels(the_case, grid, 1, options.memory);
  fill_levels(the_case, grid, levels, Communicator::self(), options.sweep.threads);
  const auto sweep = options.backend.make(*the_case.problem, the_case.setting, the_case.precision,
                                          options.sweep);
  const Stream stream = options.stream;
  std::array<NormSlot, 2> norms{NormSlot(!stream.is_host()), NormSlot(!stream.is_host())};

  AloneResult result{levels[0], {}, 0, 0};
  std::size_t level = 0;
  // A GPU's norm is looked at one sweep late, so that it need not stand still for it.
  std::int64_t unread = -1;
  const auto read_norm = [&] {
    if (unread >= 0)
      result.norm_history.emplace_back(
          unread, norm_of(the_case, norms[static_cast<std::size_t>(unread % 2)].value()));
    unread = -1;
  };
  auto start = Clock::now();
  for (std::int64_t s = 0; s < sweeps; ++s) {
    const bool wants_norm = the_case.wants_norm(s);
    NormSlot& norm = norms[static_cast<std::size_t>(s % 2)];
    wrap_faces(levels[level], the_case, stream);
    sweep->run({.in = levels[level],
                .out = levels[1 - level],
                .region = grid.owned(),
                .norm = wants_norm ? the_case.norm : problem::NormKind::none,
                .norm_sum = wants_norm ? norm.begin(stream) : nullptr},
               stream);
    if (wants_norm) norm.end(stream);
    read_norm();
    if (wants_norm) unread = s;
    level = 1 - level;
    if (s > 0) continue;
    device::synchronize(stream);
    result.first_sweep_seconds = std::chrono::duration<double>(Clock::now() - start).count();
    start = Clock::now();
  }
  read_norm();
  device::synchronize(stream);
  if (sweeps > 1)
    result.loop_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  result.field = seen_by_host(levels[level], the_case, grid);
  return result;
}

}  // namespace halocline::solver
