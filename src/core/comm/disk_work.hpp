// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work of all ranks that a disk may delay for any time, and the end of waiting for a rank that is
// stopped or lost. For comm only: it includes mpi.h.

#include <functional>

#include <halocline/communicator.hpp>

namespace halocline::comm {

/// How work on a disk ended.
struct DiskEnd {
  int error = 0;       ///< what this rank's work returned; 0: it succeeded
  bool on_all = true;  ///< it succeeded on every rank
};

/// Runs `work` on every rank, each in a thread of its own, and waits until all are done. Meanwhile
/// the ranks tell each other that they are there: a slow disk is waited for without a limit, but a
/// rank that says nothing for the wait limit is stopped or lost. `work` must own what it uses,
/// since it goes on after such an error, and must not call MPI nor throw. `tag` is one of the
/// communicator's, which several calls may share. Collective. Throws communication, naming the
/// ranks that say nothing.
DiskEnd on_every_disk(const Communicator& communicator, int tag, const std::function<int()>& work);

}  // namespace halocline::comm
