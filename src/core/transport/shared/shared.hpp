// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stores into the neighbour's MPI shared window on the node, and then raises a flag: the host's
// counterpart of `peer`. See device/port.hpp for the protocol.

#include "transport/transport.hpp"

namespace halocline::transport {

class SharedTransport final : public Transport {
 public:
  std::string_view name() const override { return "shared"; }
  std::optional<std::string> unavailable(Pair pair, Memory fields) const override;
  Capabilities capabilities() const override {
    return {.carrier = Carrier::host, .prove_in_job = true};
  }
  std::unique_ptr<Channel> open(const Communicator& communicator, std::vector<Message> messages,
                                Memory fields) const override;
};

}  // namespace halocline::transport
