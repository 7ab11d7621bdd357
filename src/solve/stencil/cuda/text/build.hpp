// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels that are compiled when the program runs, once for all ranks.

#include <cstddef>
#include <functional>
#include <vector>

#include <halocline/communicator.hpp>

#include "compiler/cuda/compiler.hpp"

namespace halocline::stencil::cuda {

struct Build {
  std::vector<compiler::Code> codes;
  std::size_t choice = 0;  ///< of the kernels that were tried
  double seconds = 0;      ///< until this rank had it; 0 if all came with the program
};

/// Returns what `make` makes on rank 0, on every rank; what each rank makes where their GPUs
/// differ, or without a communicator. Collective. Throws rank 0's error on every rank.
Build build_for_all(const Communicator* communicator, const std::function<Build()>& make);

/// Returns whether the flag is set on any rank; without a communicator, on this one. Collective.
bool any_rank(const Communicator* communicator, bool says_so);

/// Runs `work` on every rank; if one fails, all throw its error. Collective.
void on_all_ranks(const Communicator* communicator, const std::function<void()>& work);

}  // namespace halocline::stencil::cuda
