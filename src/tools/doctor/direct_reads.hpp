// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether one process may read another's memory (cross-memory attach), by which MPI saves a copy
// between ranks of a node.

#include <string>

#include <halocline/communicator.hpp>

namespace halocline::doctor {

struct DirectReads {
  bool work = false;
  std::string because;  ///< why not: "Operation not permitted"
};

/// Lets each rank read from the next in the ring. Ranks of one node; collective; the same on every
/// rank.
DirectReads try_direct_reads(const Communicator& communicator);

}  // namespace halocline::doctor
