#pragma once
// Which of two transports is faster for the messages of a plan.

#include <vector>

#include "transport/transport.hpp"

namespace halocline::exchange {

/// Microseconds that an exchange of such messages takes through `transport`, the best of a few
/// after some to warm up; the slowest rank's. Uses memory of its own; fields are copied to and from
/// slots in one piece, as fast as packing may be. Collective;
/// throws what opening and exchanging throw.
double microseconds_of(const Communicator& communicator, const transport::Transport& transport,
                       std::vector<transport::Message> messages, Memory fields);

}  // namespace halocline::exchange
