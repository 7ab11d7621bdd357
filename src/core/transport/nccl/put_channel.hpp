// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages by NCCL's puts with signals, from its version 2.30.7 on.

#include "transport/nccl/call_channel.hpp"

namespace halocline::transport::nccl {

/// Whether HALOCLINE_NCCL_PUTS is "on" on a rank. It is off unless said otherwise: between two H200
/// of a node a put of 64 KiB took 12.6 us in a graph (2.32.3), a grouped send and receive 7.8
/// (2.28.9), a store of ours 3.9, and there was no network to measure. Collective.
bool are_puts_wanted(const Communicator& communicator);

/// Opens a channel of puts with signals. Collective. Throws unavailable, the same on every rank,
/// where NCCL has none.
std::unique_ptr<Channel> open_put_channel(const Communicator& communicator,
                                          const std::vector<Message>& messages);

}  // namespace halocline::transport::nccl
