// SPDX-License-Identifier: Apache-2.0
#include "transport/peer/peer.hpp"

#include <utility>

#include "device/gpu.hpp"
#include "link/window.hpp"
#include "transport/peer/channel.hpp"

namespace halocline::transport {

std::optional<std::string> PeerTransport::missing_here() const { return device::no_gpu_because(); }

std::optional<std::string> PeerTransport::unavailable(Pair pair, Memory fields) const {
  if (!gpu_reads(fields)) return "its kernels pack and unpack on a GPU and cannot read host memory";
  if (pair == Pair::same_node) return std::nullopt;
  return pair == Pair::self ? "it only stores into other ranks' memory"
                            : "the ranks are on different nodes";
}

std::unique_ptr<Channel> PeerTransport::open(const Communicator& communicator,
                                             std::vector<Message> messages, Memory) const {
  const auto share = [&](std::int64_t bytes, const std::vector<int>& peers,
                         const std::vector<link::Window::Offsets>& offsets) {
    const auto window = std::make_shared<link::Window>(communicator, bytes, peers, offsets);
    ReachedMemory memory{.mine = window->mine(), .theirs = {}, .offsets = {}, .owner = window};
    for (std::size_t p = 0; p < peers.size(); ++p) {
      memory.theirs.push_back(window->of(p));
      memory.offsets.push_back(window->offsets_of(p));
    }
    return memory;
  };
  return open_kernel_channel(communicator, std::move(messages),
                             {.transport = "peer", .open = share}, link::note_on_sharing());
}

}  // namespace halocline::transport
