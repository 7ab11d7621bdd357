// SPDX-License-Identifier: Apache-2.0
#pragma once
// Showing that a path works before it is used, inside the job: for paths that cannot crash.

#include <optional>
#include <string>
#include <vector>

#include "transport/transport.hpp"

namespace halocline::proof {

/// Sends patterns that name sender, receiver and byte through every message of a channel that
/// is not in use, in place or in slots, twice, so that both slots are seen, and checks every byte.
/// Returns what was wrong, or nothing. `fields` is the memory that the channel was opened for. All
/// peers must call it together.
std::optional<std::string> prove(const Communicator& communicator, transport::Channel& channel,
                                 const std::vector<transport::Message>& messages, Memory fields);

}  // namespace halocline::proof
