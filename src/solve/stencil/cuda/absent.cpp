// SPDX-License-Identifier: Apache-2.0
// For builds without CUDA.

#include <halocline/error.hpp>

#include "device/gpu.hpp"
#include "stencil/cuda/backend.hpp"
#include "stencil/ghosts.hpp"
#include "stencil/persistent.hpp"

namespace halocline::stencil::cuda {

std::optional<std::string> Backend::unavailable() const { return device::no_gpu_because(); }

std::optional<std::string> Backend::cannot_sweep_because(const problem::Model&) const {
  return unavailable();
}

std::optional<std::string> Backend::cannot_pass_because(const problem::Model&) const {
  return unavailable();
}

std::int64_t Backend::suggested_sweeps_of_pass(const problem::Model&, halocline::Norm) const {
  return 1;
}

double Backend::redundant_in_pass(const problem::Model&, std::int64_t) const { return 0; }

bool Backend::has_passes_at_hand(const problem::Model&, const SweepOptions&, Compiling) const {
  return false;
}

std::unique_ptr<Sweep> Backend::make(const problem::Model&, const SweepOptions&) const {
  throw Error(ErrorKind::unavailable, *unavailable());
}

std::unique_ptr<ChangingGhosts> Backend::make_ghosts(const Ghosts&, const SweepOptions&) const {
  throw Error(ErrorKind::unavailable, *unavailable());
}

bool Backend::has_persistent_kernels(const problem::Model&, halocline::Norm) const { return false; }

std::unique_ptr<PersistentSweep> Backend::make_persistent(const PersistentParts&) const {
  throw Error(ErrorKind::unavailable, *unavailable());
}

}  // namespace halocline::stencil::cuda
