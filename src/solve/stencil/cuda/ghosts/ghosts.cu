// SPDX-License-Identifier: Apache-2.0
// Launches the kernels that fill ghost cells.

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/cuda/compiler.hpp"
#include "device/buffer.hpp"
#include "device/cuda/launch.cuh"
#include "device/queue.hpp"
#include "field/cells.hpp"
#include "stencil/cuda/ghosts/ghosts.cuh"
#include "stencil/cuda/sweep.hpp"
#include "stencil/cuda/text/build.hpp"
#include "stencil/cuda/text/prebuilt.hpp"
#include "stencil/cuda/text/printed.hpp"
#include "stencil/ghosts.hpp"

namespace halocline::stencil::cuda {

namespace {

template <class Real, class Rules>
class GpuGhosts final : public ChangingGhosts {
 public:
  using Kernel = void (*)(GhostWork<Real>, Rules);

  GpuGhosts(const Ghosts& ghosts, Kernel kernel, std::optional<compiler::Module> module = {},
            double compile_seconds = 0)
      : ghosts_(ghosts),
        start_(device::cuda::earliest_start()),
        module_(std::move(module)),
        kernel_(kernel),
        compile_seconds_(compile_seconds) {
    device::cuda::load(kernel_);
    for (const Ghosts::Side& side : ghosts.sides()) {
      if (!side.changes) continue;
      sides_[side.axis].push_back(made(side));
    }
  }

  void fill(Fields level, double time, const GraphClock& clock, Ghosts::Beside beside,
            Stream stream) override {
    for (const std::vector<Prepared>& of_axis : sides_) {
      GhostWork<Real> work{};
      work.time = time;
      work.clock = clock;
      for (const Prepared& prepared : of_axis) {
        add(prepared, level, beside, work);
        if (work.sides == most_ghost_sides) launch(work, stream);
      }
      launch(work, stream);
    }
  }

  double compile_seconds() const override { return compile_seconds_; }

 private:
  struct Prepared {
    const Ghosts::Side* side;
    GhostSide<Real> ghosts;       // but for what belongs to a level
    std::shared_ptr<void> table;  // in device memory
  };

  Prepared made(const Ghosts::Side& side) const {
    const problem::Model& model = ghosts_.model();
    Prepared prepared{&side, {}, nullptr};
    GhostSide<Real>& ghosts = prepared.ghosts;
    ghosts.axis = side.axis;
    ghosts.end = side.end;
    ghosts.domain = model.cells[side.axis];
    ghosts.spacing = model.spacing[static_cast<std::size_t>(side.axis)];
    ghosts.kind = side.rule->kind;
    ghosts.is_constant =
        values_of(side.rule->kind) > 0 && model.tree.is_constant(side.rule->values[0]);
    ghosts.rule = -1;
    if (side.rule->depends_on_time) {
      ghosts.rule = rule_number(side.field, side.axis, side.end);
      return prepared;
    }
    RuleValues values(model, *side.rule, side.axis, side.end, 0);
    if (values.are_constant()) {
      for (std::size_t i = 0; i < 3; ++i) ghosts.values[i] = values.at({})[i];
      return prepared;
    }
    const Box& box = side.beside(Ghosts::Beside::held);
    std::vector<double> table;
    for (std::int64_t z = box.lower.z; z < box.upper.z; ++z)
      for (std::int64_t y = box.lower.y; y < box.upper.y; ++y)
        for (std::int64_t x = box.lower.x; x < box.upper.x; ++x)
          for (const double value : values.at({x, y, z})) table.push_back(value);
    const auto bytes = static_cast<std::int64_t>(table.size() * sizeof(double));
    prepared.table = device::allocate(Memory::device, bytes);
    device::copy(prepared.table.get(), table.data(), bytes, Stream::host());
    ghosts.table = static_cast<const double*>(prepared.table.get());
    for (int axis = 0; axis < 3; ++axis) {
      ghosts.table_origin[axis] = box.lower[axis];
      ghosts.table_cells[axis] = box.extent()[axis];
    }
    return prepared;
  }

  static void add(const Prepared& prepared, Fields level, Ghosts::Beside beside,
                  GhostWork<Real>& work) {
    const Box& box = prepared.side->beside(beside);
    if (box.empty()) return;
    const FieldStorage& field = level[prepared.side->field];
    GhostSide<Real>& ghosts = work.side[work.sides++] = prepared.ghosts;
    ghosts.first = reinterpret_cast<Real*>(field.first_owned());
    const Bricks places = field::places_of(field);
    for (int axis = 0; axis < 3; ++axis) {
      ghosts.lead[axis] = box.lower[axis] - field.shape().owned.lower[axis];
      ghosts.shift[axis] = static_cast<int>(places.shift[axis]);
      ghosts.brick_step[axis] = places.brick_step[axis];
      ghosts.cell_step[axis] = places.cell_step[axis];
      ghosts.origin[axis] = box.lower[axis];
      ghosts.cells[axis] = box.extent()[axis];
    }
  }

  void launch(GhostWork<Real>& work, Stream stream) const {
    std::int64_t cells = 0;
    for (int s = 0; s < work.sides; ++s)
      cells += work.side[s].cells[0] * work.side[s].cells[1] * work.side[s].cells[2];
    if (work.sides > 0)
      device::cuda::launch({start_}, kernel_, device::cuda::blocks_for(cells, block_threads),
                           block_threads, stream, work, Rules{});
    work.sides = 0;
  }

  const Ghosts& ghosts_;
  device::cuda::Start start_;
  std::optional<compiler::Module> module_;
  Kernel kernel_;
  double compile_seconds_;
  std::vector<Prepared> sides_[3];  // by axis
};

template <class Real>
std::unique_ptr<ChangingGhosts> make_for(const Ghosts& ghosts, const SweepOptions& options) {
  const std::string rules = print_rules(ghosts.model());
  if (rules.empty())
    return std::make_unique<GpuGhosts<Real, NoRules>>(ghosts, fill_ghosts<Real, NoRules>);
  const Build build = build_for_all(options.communicator, [&] {
    return Build{.codes = {code_of(rules, name_of_ghosts(ghosts.model()))}};
  });
  using Filling = GpuGhosts<Real, PrintedRules>;
  std::optional<compiler::Module> loaded(build.codes.front());
  auto* const kernel = loaded->template kernel<std::remove_pointer_t<typename Filling::Kernel>>();
  return std::make_unique<Filling>(ghosts, kernel, std::move(loaded), build.seconds);
}

}  // namespace

std::unique_ptr<ChangingGhosts> make_gpu_ghosts(const Ghosts& ghosts, const SweepOptions& options) {
  return ghosts.model().precision == Precision::f32 ? make_for<float>(ghosts, options)
                                                    : make_for<double>(ghosts, options);
}

}  // namespace halocline::stencil::cuda
