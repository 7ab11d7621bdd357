// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reference backend: plain loops that define the result of every backend.

#include "stencil/sweep.hpp"

namespace halocline::stencil::reference {

/// Evaluates the model's formulas one cell and one operation after the other, in a single thread;
/// ignores the options.
class Backend final : public stencil::Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::unique_ptr<Sweep> make(const problem::Model& model,
                              const SweepOptions& options) const override;
};

}  // namespace halocline::stencil::reference
