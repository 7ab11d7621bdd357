// SPDX-License-Identifier: Apache-2.0
#pragma once
// Waits of the host for work that may itself wait for other ranks.

#include <halocline/communicator.hpp>
#include <halocline/stream.hpp>

namespace halocline::link {

/// Blocks the host until all work queued on `stream` is done; at once on the host's stream. Unlike
/// device::synchronize() it ends with an error, communication, if another rank does not answer
/// within the wait limit; on several ranks the work itself counts against the limit. Throws device
/// if some work failed.
void wait_for(const Communicator& communicator, Stream stream);

}  // namespace halocline::link
