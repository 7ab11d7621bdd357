// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages in GPU memory by NVSHMEM: slots in its symmetric heap, to which our kernels store where
// they reach it, and NVSHMEM's puts with signals on the stream where they do not.

#include "transport/transport.hpp"

namespace halocline::transport {

class NvshmemTransport final : public Transport {
 public:
  std::string_view name() const override { return "nvshmem"; }
  std::optional<std::string> missing_here() const override;
  std::optional<std::string> unavailable(Pair pair, Memory fields) const override;
  /// Within a node `peer` is as fast; between nodes it has to be asked for: it starts once in a
  /// process and keeps gigabytes of each GPU until MPI_Finalize, even if it lost a race.
  bool is_for_auto(Memory) const override { return false; }
  /// It can hang, and ends the process where it fails, so it needs a proof.
  Capabilities capabilities() const override {
    return {.carrier = Carrier::stream, .needs_proof = true, .needs_order = true};
  }
  std::unique_ptr<Channel> open(const Communicator& communicator, std::vector<Message> messages,
                                Memory fields) const override;
  std::string_view when_it_fails() const override {
    return "set NVSHMEM_DEBUG=WARN to see the cause; see also halocline doctor";
  }
  std::vector<std::filesystem::path> files(const Variables& variables) const override;
};

}  // namespace halocline::transport
