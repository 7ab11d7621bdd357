// SPDX-License-Identifier: Apache-2.0
#pragma once
// What passes of several sweeps know of ghosts that change: a pass makes them itself.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/stream.hpp>

#include "compiler/cuda/compiler.hpp"
#include "stencil/cuda/passes/sides.cuh"
#include "stencil/cuda/text/printed.hpp"
#include "stencil/pass.hpp"

namespace halocline::stencil::cuda {

/// Returns what passes know of the ghosts of a field beyond a side: x lower, x upper, y lower, ...
SideOfPass side_of_pass(const problem::Model& model, std::size_t field, std::size_t side);

/// Returns the source of the kernel that makes the terms of rules that depend on time.
std::string source_of_side_terms(const problem::Model& model);

/// Whether that kernel, if it is needed, is at hand; compiles it otherwise where that is allowed.
bool has_side_terms_at_hand(const problem::Model& model, bool may_compile);

/// The terms of all ghosts that change, in device memory.
template <class Real>
class SideTerms {
 public:
  /// For passes of at most `sweeps` sweeps. Collective with a communicator. Throws as code_of().
  SideTerms(const problem::Model& model, const Operands& operands, int sweeps,
            const Communicator* communicator);

  /// Sets a pass's arguments, and makes the terms that depend on time. Regions of a pass may run on
  /// two streams: those on the stream of the first one, and the others.
  template <class Work>
  void give(const Pass& pass, Work& work, Stream stream) const {
    for (int axis = 0; axis < 3; ++axis) work.along[axis] = along_[axis];
    const auto turn = pass.is_first ? 0 : 1;
    for (const Given& one : given_)
      work.terms[one.output][one.side] = terms_[turn].get() + one.first;
    if (timed_count_ > 0) make(pass, turn, stream);
  }
  double compile_seconds() const { return compile_seconds_; }

 private:
  using Terms = problem::GhostTerms<Real>;
  using Kernel = void (*)(SideTermsWork<Real>, PrintedRules);
  struct Given {
    std::size_t output, side;
    Index first;
  };

  void make(const Pass& pass, int turn, Stream stream) const;
  void load(const problem::Model& model, const std::vector<TimedSide>& timed,
            const Communicator* communicator);

  CellsAlong along_[3];
  Index most_cells_of_side_ = 0;
  std::vector<Given> given_;
  std::shared_ptr<Terms> terms_[2];
  std::shared_ptr<TimedSide> timed_;
  int timed_count_ = 0;
  std::optional<compiler::Module> module_;
  Kernel kernel_ = nullptr;
  double compile_seconds_ = 0;
};

}  // namespace halocline::stencil::cuda
