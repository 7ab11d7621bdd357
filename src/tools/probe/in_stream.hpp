// SPDX-License-Identifier: Apache-2.0
#pragma once
// Showing that exchanges keep their place in a GPU's stream: after the work before them, and before
// the work after them.

#include <string>
#include <vector>

#include "device/allocator.hpp"
#include "transport/transport.hpp"

namespace halocline::probe {

/// What was wrong; both empty if nothing was.
struct StreamFaults {
  std::string order;  ///< bytes moved before or after their turn
  std::string bytes;  ///< bytes arrived that nobody wrote
};

/// Memory that a GPU reads.
struct StreamFields {
  Memory memory = Memory::device;
  device::Allocator allocator = device::Allocator::ordinary;
  bool in_graph = false;  ///< also records the exchanges, and replays them
};

/// Queues several exchanges through a channel that is not in use, each between kernels that write
/// what is sent, read what came, and overwrite both; on some ranks they come late. What is written
/// names sender, receiver, byte and exchange, and every byte that came is checked. Messages are in
/// place or in slots, as the channel was opened for; kernels copy between these and `fields`.
/// Returns the same on every rank. Collective; throws what the channel throws. Takes up to four
/// times the memory of the messages.
StreamFaults prove_in_stream(const Communicator& communicator, transport::Channel& channel,
                             const std::vector<transport::Message>& messages,
                             const StreamFields& fields);

}  // namespace halocline::probe
