// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI on memory that the host can read, with persistent requests.

#include "transport/transport.hpp"

namespace halocline::transport {

class MpiTransport final : public Transport {
 public:
  std::string_view name() const override { return "mpi"; }
  std::optional<std::string> unavailable(Pair pair, Memory fields) const override;
  Capabilities capabilities() const override {
    return {.carrier = Carrier::host, .needs_progress = true, .in_place = true};
  }
  std::unique_ptr<Channel> open(const Communicator& communicator, std::vector<Message> messages,
                                Memory fields) const override;
};

}  // namespace halocline::transport
