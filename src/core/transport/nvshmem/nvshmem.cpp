// SPDX-License-Identifier: Apache-2.0
#include "transport/nvshmem/nvshmem.hpp"

#include <algorithm>
#include <utility>

#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "transport/nvshmem/put_channel.hpp"
#include "transport/nvshmem/session.hpp"
#include "transport/peer/channel.hpp"

namespace halocline::transport {
namespace {

using nvshmem::Session;
using Offsets = ReachedMemory::Offsets;

/// Whether kernels of every rank reach the heaps of all its peers.
bool kernels_reach(const Communicator& communicator, Session& session,
                   const std::vector<Message>& messages) {
  const std::shared_ptr<void> somewhere = session.allocate(communicator, 1);
  const bool all = std::all_of(messages.begin(), messages.end(), [&](const Message& message) {
    return session.library().pointer(somewhere.get(),
                                     session.number_of(communicator, message.peer)) != nullptr;
  });
  return comm::max_over_ranks(communicator, std::int64_t{all ? 0 : 1}) == 0;
}

ReachedMemory heap_memory(const Communicator& communicator, Session& session, std::int64_t bytes,
                          const std::vector<int>& peers, const std::vector<Offsets>& offsets) {
  const std::shared_ptr<void> memory = session.allocate(communicator, bytes);
  ReachedMemory reached{.mine = static_cast<std::byte*>(memory.get()),
                        .theirs = {},
                        .offsets = swapped(communicator, peers, offsets),
                        .owner = memory};
  for (const int peer : peers)
    reached.theirs.push_back(static_cast<std::byte*>(
        session.library().pointer(memory.get(), session.number_of(communicator, peer))));
  return reached;
}

}  // namespace

std::optional<std::string> NvshmemTransport::missing_here() const {
  if (const auto why = device::no_gpu_because()) return why;
  if (nvshmem::loaded_library() == nullptr) return nvshmem::why_no_library();
  return std::nullopt;
}

std::optional<std::string> NvshmemTransport::unavailable(Pair pair, Memory fields) const {
  if (pair == Pair::self) return "copies inside a rank need no NVSHMEM";
  if (fields != Memory::device) return "it is for device memory only";
  return std::nullopt;
}

std::unique_ptr<Channel> NvshmemTransport::open(const Communicator& communicator,
                                                std::vector<Message> messages,
                                                Memory fields) const {
  Session& session = Session::of(communicator);
  if (!kernels_reach(communicator, session, messages))
    return nvshmem::open_put_channel(communicator, std::move(messages), fields);
  const auto open = [&](std::int64_t bytes, const std::vector<int>& peers,
                        const std::vector<Offsets>& offsets) {
    return heap_memory(communicator, session, bytes, peers, offsets);
  };
  return open_kernel_channel(communicator, std::move(messages),
                             {.transport = "nvshmem", .open = open}, session.note());
}

std::vector<std::filesystem::path> NvshmemTransport::files(const Variables& variables) const {
  const std::filesystem::path file = file_to_load(nvshmem::library_to_find, variables);
  return file.empty() ? std::vector<std::filesystem::path>{} : std::vector{file};
}

}  // namespace halocline::transport
