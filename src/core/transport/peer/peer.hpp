// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stores of kernels into the memory of neighbours' GPUs on the node, mapped once, then flags.
// Packing is the push: see device/port.hpp for the protocol and pack/cuda for the kernel. Slots are
// device memory, whatever memory that the GPU reads the fields are in.

#include "transport/transport.hpp"

namespace halocline::transport {

class PeerTransport final : public Transport {
 public:
  std::string_view name() const override { return "peer"; }
  std::optional<std::string> missing_here() const override;
  std::optional<std::string> unavailable(Pair pair, Memory fields) const override;
  /// Pinned and system memory is the host's: mostly the host works on it, and a GPU crosses the
  /// bus.
  bool is_for_auto(Memory fields) const override {
    return fields == Memory::device || fields == Memory::managed;
  }
  Capabilities capabilities() const override {
    return {.carrier = Carrier::kernels, .prove_in_job = true};
  }
  std::unique_ptr<Channel> open(const Communicator& communicator, std::vector<Message> messages,
                                Memory fields) const override;
};

}  // namespace halocline::transport
