// SPDX-License-Identifier: Apache-2.0
#pragma once
// Channels by NVSHMEM's puts with signals on the stream, for peers that kernels do not reach.

#include <memory>
#include <vector>

#include "transport/transport.hpp"

namespace halocline::transport::nvshmem {

/// Opens a channel of messages to other ranks. Collective. Throws as Session::of() and
/// Session::allocate().
std::unique_ptr<Channel> open_put_channel(const Communicator& communicator,
                                          std::vector<Message> messages, Memory fields);

}  // namespace halocline::transport::nvshmem
