// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels store into the mapped memory of neighbours' GPUs on the node, and then raise flags.
// Packing writes directly into the neighbour's memory: see device/port.hpp for the protocol and
// pack/cuda for the kernel. Slots are always device memory; fields may be in any memory that the
// GPU reads.

#include "transport/transport.hpp"

namespace halocline::transport {

class PeerTransport final : public Transport {
 public:
  std::string_view name() const override { return "peer"; }
  std::optional<std::string> missing_here() const override;
  std::optional<std::string> unavailable(Pair pair, Memory fields) const override;
  /// Not for pinned and system memory: usually the host works on it, and a GPU accesses it across
  /// the bus.
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
