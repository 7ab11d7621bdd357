// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of the ranks of doctor's first job. It may crash or hang, so it runs in a separate job.

#include "probe/prober.hpp"

namespace halocline::doctor {

/// Prints facts about this rank, MPI, the GPU driver and libraries, and the speeds of nodes, GPUs
/// and links. Collective.
void examine_facts(const Communicator& communicator, const probe::PrintLine& print);

}  // namespace halocline::doctor
