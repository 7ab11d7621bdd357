// SPDX-License-Identifier: Apache-2.0
#pragma once
// Test that exchanges keep their order in a GPU's stream, after earlier and before later work.

#include <string>
#include <vector>

#include "device/allocator.hpp"
#include "transport/transport.hpp"

namespace halocline::probe {

/// The first faults; both empty if there is none.
struct StreamFaults {
  std::string order;  ///< bytes moved too early or too late
  std::string bytes;  ///< bytes arrived that no rank wrote
};

/// Memory to test with; a GPU must be able to read it.
struct StreamFields {
  Memory memory = Memory::device;
  device::Allocator allocator = device::Allocator::ordinary;
  bool in_graph = false;  ///< also records the exchanges, and replays them
};

/// Queues several exchanges through an idle channel, each between kernels that write the sent data,
/// read the received data, and overwrite both; on some ranks with delays. The data depends on
/// sender, receiver, byte and exchange, and every received byte is checked. Messages are in place
/// or in slots, as the channel was opened; kernels copy between slots and `fields`. Returns the
/// same on every rank. Collective; throws what the channel throws. Takes up to four times the
/// memory of the messages.
StreamFaults prove_in_stream(const Communicator& communicator, transport::Channel& channel,
                             const std::vector<transport::Message>& messages,
                             const StreamFields& fields);

}  // namespace halocline::probe
