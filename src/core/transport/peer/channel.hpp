// SPDX-License-Identifier: Apache-2.0
#pragma once
// Channels whose kernels store into the memory of other ranks' GPUs, by whatever way it is reached.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/transport.hpp"

namespace halocline::transport {

/// Zeroed memory on this rank's GPU to which kernels of its peers store, and theirs.
struct ReachedMemory {
  /// Offsets in a rank's memory that a peer needs.
  using Offsets = std::array<std::int64_t, 3>;

  std::byte* mine;
  std::vector<std::byte*> theirs;  ///< of each peer: addresses for kernels of this rank
  std::vector<Offsets> offsets;    ///< that each peer sent
  std::shared_ptr<void> owner;     ///< frees it, collectively
};

/// Sends `mine[p]` to rank `peers[p]`; returns what these sent. Collective.
std::vector<ReachedMemory::Offsets> swapped(const Communicator& communicator,
                                            const std::vector<int>& peers,
                                            const std::vector<ReachedMemory::Offsets>& mine);

struct WayToMemory {
  const char* transport;  ///< its name, for errors
  /// Allocates `bytes` bytes, and sends `offsets[p]` to rank `peers[p]`. Collective. Throws the
  /// same on every rank.
  std::function<ReachedMemory(std::int64_t bytes, const std::vector<int>& peers,
                              const std::vector<ReachedMemory::Offsets>& offsets)>
      open;
};

/// Opens a channel, whose messages must all be to other ranks. Collective. Throws as way.open().
std::unique_ptr<Channel> open_kernel_channel(const Communicator& communicator,
                                             std::vector<Message> messages, const WayToMemory& way,
                                             std::string note);

}  // namespace halocline::transport
