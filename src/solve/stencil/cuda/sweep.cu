// SPDX-License-Identifier: Apache-2.0
// Sweeps of formulas that are compiled in.

#include "stencil/compiled.hpp"
#include "stencil/cuda/launches.cuh"
#include "stencil/cuda/per_cell.cuh"
#include "stencil/cuda/reduce.cuh"

namespace halocline::stencil::cuda {
namespace {

__global__ void __launch_bounds__(block_threads) reduce_alone(ReduceWork work) { reduce(work); }

template <int axes, class Real_, class Formula>
class CompiledKernels final : public Kernels<Real_, OneField<Formula, axes>, 1, 1> {
 public:
  using Base = Kernels<Real_, OneField<Formula, axes>, 1, 1>;
  using typename Base::Kernel;
  using typename Base::Real;
  using typename Base::Update;

  CompiledKernels(const Formula& formula, bool plain) : is_plain_(plain), update_{formula} {
    for (const Norm kind : {Norm::none, Norm::max, Norm::l2}) device::cuda::load(per_cell(kind));
    if constexpr (axes > 1)
      marches_ = {march_of<Norm::none>(), march_of<Norm::max>(), march_of<Norm::l2>()};
    device::cuda::load(reduce_alone);
  }

  bool marches(bool over_bricks) const override { return axes > 1 && !over_bricks && !is_plain_; }
  March<Kernel> march(Norm kind) const override {
    return marches_.at(static_cast<std::size_t>(kind));
  }
  Kernel per_cell(Norm kind) const override {
    return kind == Norm::none  ? cuda::per_cell<Norm::none, Real, Update, 1, 1>
           : kind == Norm::max ? cuda::per_cell<Norm::max, Real, Update, 1, 1>
                               : cuda::per_cell<Norm::l2, Real, Update, 1, 1>;
  }
  Update update() const override { return update_; }
  int rows_of_pushing_tile() const override {
    return axes > 1 ? ShapeFor<Norm::none, axes, Real>::rows : 0;
  }

 private:
  template <Norm kind>
  static March<Kernel> march_of() {
    using Chosen = ShapeFor<kind, axes, Real>;
    const Kernel kernel = cuda::march<kind, axes, Chosen, Real, Update, 1, 1>;
    device::cuda::load(kernel);
    return march_with(kernel, Chosen::ahead, Chosen::rows, Chosen::layers, 0);
  }

  bool is_plain_;
  std::vector<March<Kernel>> marches_;  // by their norms; none for one axis
  Update update_;
};

struct Maker {
  using Result = std::unique_ptr<stencil::Sweep>;
  const problem::Model& model;
  const SweepOptions& options;

  template <class Real, int axes, class Formula>
  Result make(const Formula& formula) const {
    using Compiled = CompiledKernels<axes, Real, Formula>;
    return std::make_unique<CudaSweep<typename Compiled::Base>>(
        std::make_unique<Compiled>(formula, options.plain), Operands{{0}, {0}}, model);
  }
};

}  // namespace

void launch_reduction(const ReduceWork& work, Stream stream) {
  device::cuda::launch(reduce_alone, 1, block_threads, stream, work);
}

std::unique_ptr<stencil::Sweep> make_compiled_sweep(const problem::Model& model,
                                                    const SweepOptions& options) {
  return make_compiled(model, Maker{model, options});
}

}  // namespace halocline::stencil::cuda
