// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies inside a rank that owns all of a periodic axis: pack/ does them, from field to field.

#include "transport/transport.hpp"

namespace halocline::transport {

class SelfTransport final : public Transport {
 public:
  std::string_view name() const override { return "self"; }
  std::optional<std::string> unavailable(Pair pair, Memory fields) const override;
  Capabilities capabilities() const override {
    return {.carrier = Carrier::kernels, .needs_no_channel = true};
  }
  std::unique_ptr<Channel> open(const Communicator& communicator, std::vector<Message> messages,
                                Memory fields) const override;
};

}  // namespace halocline::transport
