// SPDX-License-Identifier: Apache-2.0
#pragma once
// Communication by a second thread, in addition to the one that exchanges halos.

#include <string>

#include <halocline/communicator.hpp>

namespace halocline::comm {

/// Returns the level of thread support of MPI: "MPI_THREAD_FUNNELED".
std::string thread_support();
/// True for MPI_THREAD_MULTIPLE.
bool any_thread_may_call();

/// Returns why a second thread may not call MPI while others do; empty if it may, on all ranks.
/// Collective.
std::string no_thread_because(const Communicator& communicator);

/// Returns a communicator of the same ranks for a thread of its own. That thread waits without
/// haste, since others compute, and leaves exchanges in flight to those who began them. Collective;
/// to be called while one thread alone calls MPI.
Communicator for_thread(const Communicator& communicator);

/// Lets the thread of such a communicator throw communication out of what it waits for. Not
/// collective; from any thread.
void give_up(const Communicator& communicator);

}  // namespace halocline::comm
