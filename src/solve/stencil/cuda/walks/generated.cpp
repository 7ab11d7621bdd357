// SPDX-License-Identifier: Apache-2.0
// Sweeps of printed updates.

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/cuda/compiler.hpp"
#include "stencil/cuda/sweep.hpp"
#include "stencil/cuda/text/build.hpp"
#include "stencil/cuda/text/prebuilt.hpp"
#include "stencil/cuda/walks/launches.cuh"
#include "stencil/cuda/walks/shapes.hpp"

namespace halocline::stencil::cuda {
namespace {

/// Whether there are walks at all. Those over bricks have to be compiled now: where that cannot be,
/// bricks are updated cell by cell.
bool walks(const SweepOptions& options) {
  return !options.plain && !(options.in_bricks && compiler::no_compiler_because());
}

template <class Real_, int inputs, int outputs>
class GeneratedKernels final : public Kernels<Real_, inputs, outputs> {
 public:
  using Base = Kernels<Real_, inputs, outputs>;
  using typename Base::Kernel;

  GeneratedKernels(const problem::Model& model, const SweepOptions& options, PrintedUpdate update,
                   bool pushes)
      : model_(model),
        pushes_(pushes),
        in_bricks_(options.in_bricks),
        update_(std::move(update)),
        shapes_(walks(options) ? shapes_for(model, update_, options.in_bricks)
                               : std::vector<WalkShape>{}) {
    std::vector<Norm> kinds;
    for (const halocline::Norm norm : options.norms) kinds.push_back(norm_of(norm));
    const auto make = [&] {
      return marches(in_bricks_) ? build_march(kinds) : build_per_cell(kinds);
    };
    const Build build = build_for_all(options.communicator, make);
    compile_seconds_ = build.seconds;
    shape_ = build.choice;
    for (std::size_t k = 0; k < kinds.size(); ++k)
      if (marches(in_bricks_))
        take_march(build.codes[k], kinds[k]);
      else
        cells_[kinds[k]] = taken(build.codes[k]);
  }

  bool marches(bool over_bricks) const override {
    return over_bricks == in_bricks_ && model_.axes > 1 && !shapes_.empty();
  }
  March<Kernel> march(Norm kind) const override {
    if (!marches_.contains(kind))
      take_march(code_of(update_.source, march_name(kind, shape_)), kind);
    return marches_.at(kind);
  }
  Kernel per_cell(Norm kind) const override {
    if (!cells_.contains(kind)) cells_[kind] = taken(code_per_cell(kind));
    return cells_.at(kind);
  }
  PrintedConstants<Real_> constants() const override { return constants_in<Real_>(update_); }
  /// A walk waits for the tiles around its own. Strips and a block's rows are at least as wide as
  /// updates may read; a warp in 3-D has one row or two, enough for the nearest cells.
  int rows_of_pushing_tile() const override {
    if (!pushes_ || shapes_.empty()) return 0;
    const WalkShape& shape = shapes_[shape_];
    if (shape.by_planes()) return shape.rows * block_warps;
    return model_.axes == 2 || model_.reads_nearest() ? shape.rows : 0;
  }
  double compile_seconds() const override { return compile_seconds_; }
  const Operands& operands() const { return update_.operands; }

 private:
  static constexpr ArgumentRoom room{inputs, outputs};
  using Code = compiler::Code;

  std::string march_name(Norm kind, std::size_t shape) const {
    return name_of_march(model_, kind_of(kind), shape_with(shapes_[shape], kind_of(kind)), room);
  }
  Code code_per_cell(Norm kind) const {
    return code_of(update_.source, name_of_per_cell(model_, kind_of(kind), room));
  }

  Build build_per_cell(const std::vector<Norm>& kinds) const {
    Build build;
    for (const Norm kind : kinds) build.codes.push_back(code_per_cell(kind));
    return build;
  }

  /// Takes the first shape whose values stay in registers, but for a few: of march those are mostly
  /// of walks at the sides, of march_planes each step would load them. What waits for neighbours
  /// there costs a star of 25 cells in fp64 with a norm 56 bytes; the next shape would run one
  /// block per multiprocessor instead of two.
  Build build_march(const std::vector<Norm>& kinds) const {
    for (std::size_t shape = 0;; ++shape) {
      const std::size_t few_bytes = !shapes_[shape].by_planes() ? 80 : pushes_ ? 64 : 8;
      std::vector<std::string> names;
      for (const Norm kind : kinds) names.push_back(march_name(kind, shape));
      Build build{.codes = codes_of(update_.source, names), .choice = shape};
      if (shape + 1 == shapes_.size() ||
          std::none_of(build.codes.begin(), build.codes.end(),
                       [&](const Code& code) { return spilled_bytes_of(code) > few_bytes; }))
        return build;
    }
  }

  static std::size_t spilled_bytes_of(const Code& code) {
    const compiler::Module loaded(code);
    return device::cuda::spilled_bytes(loaded.kernel<std::remove_pointer_t<Kernel>>());
  }

  Kernel taken(const Code& code) const {
    const Kernel kernel =
        modules_.emplace_back(code).template kernel<std::remove_pointer_t<Kernel>>();
    device::cuda::load(kernel);
    return kernel;
  }

  void take_march(const Code& code, Norm kind) const {
    const WalkShape shape = shape_with(shapes_[shape_], kind_of(kind));
    marches_.insert_or_assign(kind, march_with(taken(code), shape.ahead, shape.rows, shape.layers,
                                               block_bytes_of(model_, update_, shape)));
  }

  const problem::Model& model_;
  bool pushes_, in_bricks_;
  PrintedUpdate update_;
  std::vector<WalkShape> shapes_;
  std::size_t shape_ = 0;
  double compile_seconds_ = 0;
  // Kernels of other norms and for other strides are made when they are asked for.
  mutable std::vector<compiler::Module> modules_;
  mutable std::map<Norm, March<Kernel>> marches_;
  mutable std::map<Norm, Kernel> cells_;
};

/// Makes the sweep with the room for arguments of that number, counted from `number` on.
template <class Real, std::size_t number = 0>
std::unique_ptr<stencil::Sweep> make_for(const problem::Model& model, const SweepOptions& options,
                                         PrintedUpdate update, bool pushes) {
  constexpr ArgumentRoom room = argument_rooms[number];
  if constexpr (number + 1 < std::size(argument_rooms))
    if (room_number_for(update.operands) > number)
      return make_for<Real, number + 1>(model, options, std::move(update), pushes);
  using Made = GeneratedKernels<Real, room.inputs, room.outputs>;
  auto kernels = std::make_unique<Made>(model, options, std::move(update), pushes);
  const Operands operands = kernels->operands();
  return std::make_unique<CudaSweep<typename Made::Base>>(std::move(kernels), operands, model);
}

}  // namespace

std::unique_ptr<stencil::Sweep> make_sweep(const problem::Model& model,
                                           const SweepOptions& options) {
  const bool has_neighbours = options.communicator != nullptr && options.communicator->size() > 1;
  std::optional<std::size_t> pushed;
  if (!(options.in_bricks && walks(options))) pushed = pushed_by_walks(model);
  PrintedUpdate update = print_update(model, pushed);
  // Kernels that do not push compile faster; those that come with the program push.
  const bool pushes = has_neighbours && !options.in_bricks;
  if (pushed && !pushes && !is_prebuilt(update.source)) {
    pushed.reset();
    update = print_update(model);
  }
  auto sweep = model.precision == Precision::f32
                   ? make_for<float>(model, options, std::move(update), pushed.has_value())
                   : make_for<double>(model, options, std::move(update), pushed.has_value());
  if (options.sweeps_per_pass > 1) sweep->make_passes(options);
  return sweep;
}

}  // namespace halocline::stencil::cuda
