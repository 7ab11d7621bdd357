// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages in GPU memory by NCCL: grouped sends and receives, queued on the stream that packs, also
// in CUDA graphs, within nodes and between them.

#include "transport/transport.hpp"

namespace halocline::transport {

class NcclTransport final : public Transport {
 public:
  std::string_view name() const override { return "nccl"; }
  std::optional<std::string> missing_here() const override;
  std::optional<std::string> unavailable(Pair pair, Memory fields) const override;
  /// It can hang, so it needs a proof.
  Capabilities capabilities() const override {
    return {.carrier = Carrier::stream,
            .in_place = true,
            .needs_proof = true,
            .needs_order = true,
            .is_costly_to_start = true};
  }
  std::unique_ptr<Channel> open(const Communicator& communicator, std::vector<Message> messages,
                                Memory fields) const override;
  std::string_view when_it_fails() const override {
    return "set NCCL_DEBUG=WARN to see the cause; see also halocline doctor";
  }
  std::unique_ptr<Gather> open_gather(const Communicator& communicator) const override;
  void forget(const Communicator& communicator) const override;
  std::vector<std::filesystem::path> files(const Variables& variables) const override;
};

}  // namespace halocline::transport
