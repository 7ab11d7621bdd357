// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a solve runs: which backend sweeps, on which processor or GPU, over which memory.

#include <optional>
#include <vector>

#include <halocline/solver.hpp>

#include "base/notes.hpp"
#include "device/queue.hpp"
#include "machine/gpu_binding.hpp"
#include "solver/case.hpp"
#include "stencil/sweep.hpp"

namespace halocline::solver {

struct Target {
  const stencil::Backend* backend = nullptr;
  Memory memory = Memory::host;
  std::optional<machine::GpuBinding> gpu{};         // of this rank, and everybody's
  std::optional<device::OwnedStream> own_stream{};  // of that GPU

  Stream stream() const { return own_stream ? own_stream->get() : Stream::host(); }
};

/// Throws usage for a backend or a memory that there is not, or that do not go together.
void check_target(const SolveOptions& options);

/// Chooses, and starts using this rank's GPU if the backend sweeps on one. Collective; throws,
/// the same on every rank, also unavailable and device.
Target choose_target(const Communicator& communicator, const SolveOptions& options, Notes& notes);

/// Throws resource if two time levels do not fit the memory of this rank's GPU or node.
void check_memory(const Communicator& communicator, const Case& the_case, const Grid& grid,
                  const Target& target);

/// What sweeps, in order of its first rank. Collective.
std::vector<RunDevice> devices_of(const Communicator& communicator, const Target& target);

}  // namespace halocline::solver
