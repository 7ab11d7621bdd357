// SPDX-License-Identifier: Apache-2.0
#pragma once
// Settings of a communicator: the users' options, and those that only tests change.

#include <chrono>
#include <cstdint>

#include <halocline/communicator.hpp>

namespace halocline::comm {

struct Settings {
  std::chrono::duration<double> wait_limit = CommunicatorOptions().wait_limit;
  /// Messages above this are cut into pieces: MPI counts are 32-bit.
  std::int64_t piece_bytes = std::int64_t{1} << 30;
  /// Treats this many consecutive ranks as a node, so that tests have several nodes on one; 0 asks
  /// MPI which ranks share memory.
  int ranks_per_node = 0;
  /// A launcher of another MPI may have started the ranks: see comm/start.hpp.
  bool may_be_alone = false;
  /// For a second thread, not the one that exchanges halos.
  bool is_for_thread = false;
};

/// Duplicates MPI_COMM_WORLD, as Communicator::world does. Collective. Throws usage for pieces of
/// no bytes, or of more bytes than MPI can count.
Communicator world(const Settings& settings);

const Settings& settings_of(const Communicator& communicator);

}  // namespace halocline::comm
