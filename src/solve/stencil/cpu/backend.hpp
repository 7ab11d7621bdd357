// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cpu backend: the widest vectors of the processor, and threads.

#include "stencil/sweep.hpp"

namespace halocline::stencil::cpu {

class Backend final : public stencil::Backend {
 public:
  std::optional<std::string> cannot_pass_because(const problem::Model& model) const override;
  std::int64_t suggested_sweeps_of_pass(const problem::Model& model, Norm norm) const override;
  bool has_passes_at_hand(const problem::Model&, const SweepOptions&, Compiling) const override {
    return true;
  }
  std::string_view name() const override { return "cpu"; }
  /// Takes the compiled formula that the model's is, else interprets the model's, many cells at a
  /// time. Throws usage for less than one thread or an unknown vector level, unavailable if this
  /// processor lacks the level.
  std::unique_ptr<Sweep> make(const problem::Model& model,
                              const SweepOptions& options) const override;
};

}  // namespace halocline::stencil::cpu
