// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the ranks of doctor's first job do. Any of it may crash or hang, which is why it runs in a
// job of its own: see ask_ranks.hpp.

#include "probe/prober.hpp"

namespace halocline::doctor {

/// Says what this rank and its MPI are, what the driver shows, which libraries are there, and how
/// fast nodes, GPUs and what is between nodes are. Collective.
void examine_facts(const Communicator& communicator, const probe::PrintLine& print);

}  // namespace halocline::doctor
