// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cuda backend: sweeps on an NVIDIA GPU.

#include "stencil/sweep.hpp"

namespace halocline::stencil::cuda {

class Backend final : public stencil::Backend {
 public:
  std::string_view name() const override { return "cuda"; }
  std::optional<std::string> unavailable() const override;
  bool on_gpu() const override { return true; }
  std::optional<std::string> cannot_sweep_because(const problem::Model& model) const override;
  std::optional<std::string> cannot_pass_because(const problem::Model& model) const override;
  std::int64_t suggested_sweeps_of_pass(const problem::Model& model, Norm norm) const override;
  double redundant_in_pass(const problem::Model& model, std::int64_t sweeps) const override;
  bool has_passes_at_hand(const problem::Model& model, const SweepOptions& options,
                          Compiling compiling) const override;
  /// Makes a sweep on the current GPU, which runs on one stream at a time. Throws unavailable
  /// without a GPU, and where cannot_sweep_because() gives a reason on rank 0 of the options'
  /// communicator.
  std::unique_ptr<Sweep> make(const problem::Model& model,
                              const SweepOptions& options) const override;
  std::unique_ptr<ChangingGhosts> make_ghosts(const Ghosts& ghosts,
                                              const SweepOptions& options) const override;
  bool has_persistent_kernels(const problem::Model& model, halocline::Norm norm) const override;
  std::unique_ptr<PersistentSweep> make_persistent(const PersistentParts& parts) const override;
};

}  // namespace halocline::stencil::cuda
