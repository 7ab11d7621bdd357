// SPDX-License-Identifier: Apache-2.0
#pragma once
// GPU -> pinned host memory -> MPI -> GPU: works with every MPI.

#include "transport/transport.hpp"

namespace halocline::transport {

class StagedTransport final : public Transport {
 public:
  std::string_view name() const override { return "staged"; }
  std::optional<std::string> missing_here() const override;
  std::optional<std::string> unavailable(Pair pair, Memory fields) const override;
  Capabilities capabilities() const override {
    return {
        .carrier = Carrier::host, .needs_progress = true, .in_place = true, .prove_in_job = true};
  }
  std::unique_ptr<Channel> open(const Communicator& communicator, std::vector<Message> messages,
                                Memory fields) const override;
};

}  // namespace halocline::transport
