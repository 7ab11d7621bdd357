// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tests a path inside the job before its first use: for paths that cannot crash.

#include <optional>
#include <string>
#include <vector>

#include "transport/transport.hpp"

namespace halocline::proof {

/// Sends patterns that identify sender, receiver and byte through every message of a channel that
/// is not in use, in place or in slots, twice, to test both slots, and checks every byte. Returns
/// the first fault, or nothing. `fields` is the memory that the channel was opened for. All peers
/// must call it together.
std::optional<std::string> prove(const Communicator& communicator, transport::Channel& channel,
                                 const std::vector<transport::Message>& messages, Memory fields);

}  // namespace halocline::proof
