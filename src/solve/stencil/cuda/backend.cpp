// SPDX-License-Identifier: Apache-2.0
#include "stencil/cuda/backend.hpp"

#include <halocline/error.hpp>

#include "device/gpu.hpp"
#include "stencil/cuda/sweep.hpp"

namespace halocline::stencil::cuda {

std::optional<std::string> Backend::unavailable() const { return device::no_gpu_because(); }

std::unique_ptr<Sweep> Backend::make(const problem::Problem& problem,
                                     const problem::Setting& setting, problem::Precision precision,
                                     const SweepOptions&) const {
  if (const auto why = unavailable()) throw Error(ErrorKind::unavailable, *why);
  return make_sweep(problem, setting, precision);
}

std::unique_ptr<PersistentSweep> Backend::make_persistent(const PersistentParts& parts) const {
  if (const auto why = unavailable()) throw Error(ErrorKind::unavailable, *why);
  return make_persistent_sweep(parts);
}

}  // namespace halocline::stencil::cuda
