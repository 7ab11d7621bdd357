// SPDX-License-Identifier: Apache-2.0
#include "stencil/cuda/backend.hpp"

#include <halocline/error.hpp>

#include "device/cuda/compiler.hpp"
#include "device/gpu.hpp"
#include "stencil/compiled.hpp"
#include "stencil/cuda/printed.hpp"
#include "stencil/cuda/sweep.hpp"

namespace halocline::stencil::cuda {

std::optional<std::string> Backend::unavailable() const { return device::no_gpu_because(); }

std::optional<std::string> Backend::cannot_sweep_because(const problem::Model& model) const {
  const bool is_compiled = compiled_formula_of(model).has_value();
  if (is_compiled && print_rules(model).empty()) return std::nullopt;
  if (auto why = cannot_be_compiled_because(model); why && !is_compiled) return why;
  if (auto why = device::cuda::no_compiler_because())
    return "its formulas have to be compiled for GPUs: " + *why;
  return std::nullopt;
}

std::unique_ptr<Sweep> Backend::make(const problem::Model& model,
                                     const SweepOptions& options) const {
  if (const auto why = unavailable()) throw Error(ErrorKind::unavailable, *why);
  // Compiled in are walks over rows; bricks they take cell by cell.
  const bool over_bricks = options.in_bricks && !options.plain && model.axes == 3 &&
                           !device::cuda::no_compiler_because();
  if (options.formulas == Formulas::compiled_where_possible && !over_bricks)
    if (auto sweep = make_compiled_sweep(model, options)) return sweep;
  if (const auto why = cannot_be_compiled_because(model)) throw Error(ErrorKind::unavailable, *why);
  return make_generated_sweep(model, options);
}

std::unique_ptr<ChangingGhosts> Backend::make_ghosts(const Ghosts& ghosts,
                                                     const SweepOptions& options) const {
  return make_gpu_ghosts(ghosts, options);
}

std::unique_ptr<PersistentSweep> Backend::make_persistent(const PersistentParts& parts) const {
  if (const auto why = unavailable()) throw Error(ErrorKind::unavailable, *why);
  if (parts.formulas == Formulas::compiled_where_possible)
    if (auto sweep = make_compiled_persistent_sweep(parts)) return sweep;
  if (const auto why = cannot_persist_because(parts.model))
    throw Error(ErrorKind::unavailable, *why);
  return make_generated_persistent_sweep(parts);
}

}  // namespace halocline::stencil::cuda
