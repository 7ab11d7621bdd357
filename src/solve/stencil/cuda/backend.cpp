// SPDX-License-Identifier: Apache-2.0
#include "stencil/cuda/backend.hpp"

#include <halocline/error.hpp>

#include "compiler/cuda/compiler.hpp"
#include "device/gpu.hpp"
#include "stencil/compiled.hpp"
#include "stencil/cuda/passes/passes.hpp"
#include "stencil/cuda/passes/shapes.hpp"
#include "stencil/cuda/sweep.hpp"
#include "stencil/cuda/text/prebuilt.hpp"
#include "stencil/cuda/text/printed.hpp"
#include "stencil/cuda/walks/shapes.hpp"

namespace halocline::stencil::cuda {

std::optional<std::string> Backend::unavailable() const { return device::no_gpu_because(); }

std::optional<std::string> Backend::cannot_sweep_because(const problem::Model& model) const {
  if (auto why = cannot_be_compiled_because(model)) return why;
  if (print_rules(model).empty() && is_prebuilt(print_update(model, pushed_by_walks(model)).source))
    return std::nullopt;
  if (auto why = compiler::no_compiler_because())
    return "its formulas have to be compiled for GPUs: " + *why;
  return std::nullopt;
}

std::optional<std::string> Backend::cannot_pass_because(const problem::Model& model) const {
  return cuda::cannot_pass_because(model);
}

std::int64_t Backend::suggested_sweeps_of_pass(const problem::Model& model,
                                               halocline::Norm norm) const {
  return cuda::suggested_sweeps_of(model, print_update(model), norm);
}

double Backend::redundant_in_pass(const problem::Model& model, std::int64_t sweeps) const {
  return cuda::redundant_in_pass(model, print_update(model), static_cast<int>(sweeps));
}

bool Backend::has_passes_at_hand(const problem::Model& model, const SweepOptions& options,
                                 Compiling compiling) const {
  return cuda::has_passes_at_hand(model, options, compiling == Compiling::allowed);
}

std::unique_ptr<Sweep> Backend::make(const problem::Model& model,
                                     const SweepOptions& options) const {
  if (const auto why = unavailable()) throw Error(ErrorKind::unavailable, *why);
  if (const auto why = cannot_be_compiled_because(model)) throw Error(ErrorKind::unavailable, *why);
  return make_sweep(model, options);
}

std::unique_ptr<ChangingGhosts> Backend::make_ghosts(const Ghosts& ghosts,
                                                     const SweepOptions& options) const {
  return make_gpu_ghosts(ghosts, options);
}

bool Backend::has_persistent_kernels(const problem::Model& model, halocline::Norm norm) const {
  return !cannot_persist_because(model) &&
         is_prebuilt(print_update(model).source,
                     name_of_persist(model, norm_of_persist(norm), rows_of_persist(model.axes)[0]));
}

std::unique_ptr<PersistentSweep> Backend::make_persistent(const PersistentParts& parts) const {
  if (const auto why = unavailable()) throw Error(ErrorKind::unavailable, *why);
  if (const auto why = cannot_persist_because(parts.model))
    throw Error(ErrorKind::unavailable, *why);
  return make_persistent_sweep(parts);
}

}  // namespace halocline::stencil::cuda
