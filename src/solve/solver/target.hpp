// SPDX-License-Identifier: Apache-2.0
#pragma once
// The target of a solve: backend, processor or GPU, and memory.

#include <optional>
#include <vector>

#include <halocline/solver.hpp>

#include "base/text/notes.hpp"
#include "device/queue.hpp"
#include "machine/gpu_binding.hpp"
#include "solver/case.hpp"
#include "stencil/sweep.hpp"

namespace halocline::solver {

struct Target {
  const stencil::Backend* backend = nullptr;
  Memory memory = Memory::host;
  std::optional<machine::GpuBinding> gpu{};         // this rank's, and the map of all ranks
  std::optional<device::OwnedStream> own_stream{};  // of that GPU

  Stream stream() const { return own_stream ? own_stream->get() : Stream::host(); }
};

/// Throws usage for an unknown backend, or for memory that the backend cannot reach.
void check_target(const SolveOptions& options);

/// Chooses the target, for that case or for any, and, if its backend runs on a GPU, binds this rank
/// to one. Collective; throws, the same on every rank, usage as check_target() does, unavailable
/// and device.
Target choose_target(const Communicator& communicator, const SolveOptions& options, Notes& notes,
                     const Case* the_case = nullptr);

/// Throws resource if levels and coefficients do not fit in the memory of this rank's GPU or node.
void check_memory(const Communicator& communicator, const Case& the_case, const Grid& grid,
                  const Target& target);

/// Throws resource if rank 0's node or GPU has no room, in addition to these time levels, for the
/// run of the whole grid on one rank that options 'verify' and 'baseline' need.
void check_memory_of_one_rank(const Communicator& communicator, const Case& the_case,
                              const Grid& grid, const Target& target, const SolveOptions& options);

/// Lists the devices that compute sweeps, in the order of their first ranks. Collective.
std::vector<RunDevice> devices_of(const Communicator& communicator, const Target& target);

}  // namespace halocline::solver
