#include "solver/alone.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "base/recorder.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "solver/levels.hpp"

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

/// Where sweeps leave their norms: on the host, or on a GPU, which is not asked before the end.
class NormList {
 public:
  NormList(const Case& the_case, std::int64_t sweeps, bool on_gpu) : case_(the_case) {
    for (std::int64_t sweep = 0; sweep < sweeps; ++sweep)
      if (the_case.wants_norm(sweep)) norms_.emplace_back(sweep, 0);
    if (!on_gpu) return;
    on_gpu_ = device::allocate(Memory::device, static_cast<std::int64_t>(norms_.size() + 1) *
                                                   std::int64_t{sizeof(double)});
    for (auto& parts : parts_)
      parts = device::allocate(Memory::device, stencil::bytes_of_norm_parts);
  }

  /// For the next sweep; on a GPU it settles the norm before it.
  void begin(std::int64_t sweep, stencil::SweepArguments& arguments) {
    if (on_gpu_ != nullptr) arguments.settling = std::exchange(left_, {});
    if (!case_.wants_norm(sweep)) return;
    arguments.norm = case_.norm;
    if (on_gpu_ == nullptr) {
      arguments.norm_sum = &norms_[next_].second;
    } else {
      arguments.norm_parts = static_cast<stencil::NormParts*>(parts_[next_ % 2].get());
      left_ = {.parts = arguments.norm_parts,
               .kind = case_.norm,
               .norm = static_cast<double*>(on_gpu_.get()) + next_};
    }
    ++next_;
  }

  void end(stencil::Sweep& sweep, Stream stream) {
    if (left_.parts != nullptr) sweep.settle(left_, stream);
  }

  /// When all sweeps are done.
  std::vector<std::pair<std::int64_t, double>> history() {
    std::vector<double> values(norms_.size());
    if (on_gpu_ != nullptr)
      device::copy(values.data(), on_gpu_.get(),
                   static_cast<std::int64_t>(values.size() * sizeof(double)), Stream::host());
    for (std::size_t i = 0; i < norms_.size(); ++i) {
      double& norm = norms_[i].second;
      if (on_gpu_ != nullptr)
        norm = values[i];
      else if (case_.norm == problem::NormKind::l2)
        norm = std::sqrt(norm);
    }
    return std::move(norms_);
  }

 private:
  const Case& case_;
  std::vector<std::pair<std::int64_t, double>> norms_;  // on the host, sums until the end
  std::shared_ptr<void> on_gpu_;                        // the norms
  std::array<std::shared_ptr<void>, 2> parts_;
  stencil::Settling left_;  // of the last norm
  std::size_t next_ = 0;
};

}  // namespace

AloneResult solve_alone(const Case& the_case, std::int64_t sweeps, const AloneOptions& options) {
  GridOptions grid_options = the_case.grid;
  grid_options.process_grid = {};
  const Grid grid(0, 1, grid_options);
  Levels levels = make_levels(the_case, grid, 1, options.memory);
  fill_levels(the_case, grid, levels, Communicator::self(), options.sweep.threads);
  const auto sweep =
      options.backend.make(*the_case.problem, the_case.setting, the_case.precision, options.sweep);
  const Stream stream = options.stream;
  NormList norms(the_case, sweeps, !stream.is_host());

  AloneResult result{levels[0], {}, 0, 0};
  std::size_t level = 0;
  auto start = Clock::now();
  for (std::int64_t s = 0; s < sweeps; ++s) {
    wrap_faces(levels[level], the_case, stream);
    stencil::SweepArguments arguments{
        .in = levels[level], .out = levels[1 - level], .region = grid.owned()};
    norms.begin(s, arguments);
    sweep->run(arguments, stream);
    level = 1 - level;
    if (s > 0) continue;
    device::synchronize(stream);
    result.first_sweep_seconds = std::chrono::duration<double>(Clock::now() - start).count();
    start = Clock::now();
  }
  norms.end(*sweep, stream);
  device::synchronize(stream);
  if (sweeps > 1) result.loop_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  result.norm_history = norms.history();
  result.field = seen_by_host(levels[level], the_case, grid);
  return result;
}

}  // namespace halocline::solver
