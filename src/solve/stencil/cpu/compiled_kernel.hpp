// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of formulas that are compiled for this processor.

#include <memory>
#include <string>
#include <string_view>

#include "stencil/cpu/kernel.hpp"
#include "stencil/sweep.hpp"

namespace halocline::stencil::cpu {

struct CompiledKernel {
  std::unique_ptr<Kernel> kernel;  ///< null: formulas are interpreted
  double seconds = 0;              ///< that it took to compile
  /// Why it could not be compiled, where it should have been.
  std::string why_not;
};

/// Compiles the updates of a model for rows of adjacent cells and vectors of that level, on rank 0
/// for all ranks, if that is allowed and at hand or worth it (see SweepOptions). Its bits are
/// proved, on every rank, against those of `interpreted`; all ranks get a kernel or none does. The
/// model must outlive the kernel. Collective if the options name a communicator.
CompiledKernel make_compiled_kernel(std::string_view level, const problem::Model& model,
                                    const Kernel& interpreted, const SweepOptions& options);

}  // namespace halocline::stencil::cpu
