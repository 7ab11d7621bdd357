// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/find_named.hpp"
#include "transport/gpu_aware/gpu_aware.hpp"
#include "transport/mpi/mpi.hpp"
#include "transport/nccl/nccl.hpp"
#include "transport/nvshmem/nvshmem.hpp"
#include "transport/peer/peer.hpp"
#include "transport/self/self.hpp"
#include "transport/shared/shared.hpp"
#include "transport/staged/staged.hpp"
#include "transport/transport.hpp"

namespace halocline::transport {

namespace {

std::vector<const Transport*>& table() {
  static const SelfTransport self;
  static const SharedTransport shared;
  static const PeerTransport peer;
  static const NcclTransport nccl;
  static const NvshmemTransport nvshmem;
  static const GpuAwareTransport gpu_aware;
  static const StagedTransport staged;
  static const MpiTransport mpi;
  static std::vector<const Transport*> all{&self,    &shared,    &peer,   &nccl,
                                           &nvshmem, &gpu_aware, &staged, &mpi};
  return all;
}

}  // namespace

std::span<const Transport* const> transports() { return table(); }

void add_transport(const Transport& transport) { table().push_back(&transport); }

const Transport& find_transport(std::string_view name) {
  return find_named("transport", name, transports(), &Transport::name, "auto");
}

std::vector<int> peers_of(const std::vector<Message>& messages) {
  std::vector<int> peers;
  for (const Message& message : messages) peers.push_back(message.peer);
  return peers;
}

void add_peer(std::string& list, std::string_view between, const Message& message) {
  list += fmt::format("{}rank {} ({})", list.empty() ? "" : between, message.peer, message.label);
}

std::string_view name_of(Pair pair) {
  return pair == Pair::self ? "self" : pair == Pair::same_node ? "same-node" : "other-node";
}

Pair pair_of(const Communicator& communicator, int peer) {
  if (peer == communicator.rank()) return Pair::self;
  return communicator.node_of(peer) == communicator.node_of(communicator.rank()) ? Pair::same_node
                                                                                 : Pair::other_node;
}

Memory slot_memory(Memory fields) {
  return fields == Memory::host || fields == Memory::device ? fields : Memory::pinned;
}

std::int64_t bytes_of(const std::vector<Part>& parts) {
  std::int64_t bytes = 0;
  for (const Part& part : parts) bytes += part.bytes;
  return bytes;
}

std::vector<Message> not_in_place(std::vector<Message> messages) {
  for (Message& message : messages)
    for (auto* parts : {&message.send, &message.receive})
      for (Part& part : *parts) part.in_place = nullptr;
  return messages;
}

void* in_place(const std::vector<Part>& parts) {
  for (const Part& part : parts)
    if (part.in_place != nullptr && parts.size() > 1)
      throw Error(ErrorKind::internal, "a message of several parts cannot be sent in place");
  return parts.size() == 1 ? parts.front().in_place : nullptr;
}

std::int64_t shift_of(const std::vector<Part>& parts, std::span<const std::int64_t> of_arrays) {
  return of_arrays.empty() || in_place(parts) == nullptr ? 0 : of_arrays[parts.front().array];
}

}  // namespace halocline::transport
