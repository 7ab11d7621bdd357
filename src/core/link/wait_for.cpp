// SPDX-License-Identifier: Apache-2.0
#include "link/wait_for.hpp"

#include <string>

#include "comm/state.hpp"
#include "comm/waiting.hpp"
#include "device/queue.hpp"

namespace halocline::link {

void wait_for(const Communicator& communicator, Stream stream) {
  if (stream.is_host()) return;
  if (communicator.size() == 1) return device::synchronize(stream);
  device::Event done;
  done.record(stream);
  comm::wait_until(communicator.state(),
                   {.site = "work on the GPU",
                    .phase = Phase::other,  // the GPU's clocks book it
                    .missing = [] { return std::string("its own GPU to finish its work"); }},
                   [&] { return done.reached(); });
}

}  // namespace halocline::link
