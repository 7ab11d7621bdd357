// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes pointers to device and managed memory to an MPI that is proved to accept them.

#include "transport/transport.hpp"

namespace halocline::transport {

class GpuAwareTransport final : public Transport {
 public:
  std::string_view name() const override { return "gpu_aware"; }
  std::optional<std::string> missing_here() const override;
  std::optional<std::string> unavailable(Pair pair, Memory fields) const override;
  Capabilities capabilities() const override {
    return {.carrier = Carrier::host,
            .needs_progress = true,
            .in_place = true,
            .needs_proof = true,
            .trusts_mpi = true};
  }
  std::unique_ptr<Channel> open(const Communicator& communicator, std::vector<Message> messages,
                                Memory fields) const override;
};

}  // namespace halocline::transport
