// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/nccl.hpp"

#include <algorithm>
#include <utility>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "comm/state.hpp"
#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "link/wait_for.hpp"
#include "transport/nccl/call_channel.hpp"
#include "transport/nccl/put_channel.hpp"
#include "transport/peer/channel.hpp"

namespace halocline::transport {
namespace {

using nccl::Connection;
using nccl::Window;

/// Whether kernels of every rank reach the registered memory of all its peers. Collective.
bool kernels_reach(const Communicator& communicator, const std::shared_ptr<Connection>& connection,
                   const std::vector<Message>& messages) {
  const std::shared_ptr<Window> somewhere = connection->library().peer_pointer != nullptr
                                                ? nccl::registered(communicator, connection, 1)
                                                : nullptr;
  const bool all =
      somewhere && std::all_of(messages.begin(), messages.end(), [&](const Message& message) {
        return somewhere->of(message.peer) != nullptr;
      });
  return comm::max_over_ranks(communicator, std::int64_t{all ? 0 : 1}) == 0;
}

ReachedMemory reached_memory(const Communicator& communicator,
                             const std::shared_ptr<Connection>& connection, std::int64_t bytes,
                             const std::vector<int>& peers,
                             const std::vector<ReachedMemory::Offsets>& offsets) {
  const auto window = std::make_shared<Window>(communicator, connection, bytes);
  ReachedMemory reached{.mine = window->mine(),
                        .theirs = {},
                        .offsets = swapped(communicator, peers, offsets),
                        .owner = window};
  for (const int peer : peers) reached.theirs.push_back(window->of(peer));
  return reached;
}

class NcclGather final : public Gather, private Connection::User {
 public:
  explicit NcclGather(const Communicator& communicator)
      : ranks_(communicator.size()),
        connection_(Connection::of(communicator)),
        registration_(*connection_, *this) {
    comm::together(communicator, [&] {
      numbers_ = device::allocate(Memory::device,
                                  (ranks_ + 1) * static_cast<std::int64_t>(sizeof(double)));
    });
    // The first one connects the ranks, which no sweep is to wait for.
    const device::OwnedStream stream;
    {
      const comm::Watchdog::Guard guard(communicator.state().watchdog(), "ncclAllGather");
      run(stream.get());
    }
    link::wait_for(communicator, stream.get());
  }

  double* mine() override { return first() + ranks_; }
  const double* all() const override { return first(); }

  void run(Stream stream) override {
    connection_->check_async();
    is_started_ = true;
    connection_->check(
        connection_->library().all_gather(mine(), first(), sizeof(double), nccl::bytes_type,
                                          connection_->comm(), stream.native()),
        "ncclAllGather");
  }

 private:
  double* first() const { return static_cast<double*>(numbers_.get()); }

  std::string awaited() const override { return is_started_ ? "all ranks (their norms)" : ""; }

  std::int64_t ranks_;
  std::shared_ptr<Connection> connection_;
  Connection::Registration registration_;
  std::shared_ptr<void> numbers_;  // of all ranks, then this rank's
  bool is_started_ = false;
};

}  // namespace

std::optional<std::string> NcclTransport::missing_here() const {
  if (const auto why = device::no_gpu_because()) return why;
  if (nccl::loaded_library() == nullptr) return nccl::why_no_library();
  return std::nullopt;
}

std::optional<std::string> NcclTransport::unavailable(Pair pair, Memory fields) const {
  if (pair == Pair::self) return "copies inside a rank need no NCCL";
  if (fields != Memory::device) return "it is for device memory only";
  return std::nullopt;
}

std::unique_ptr<Channel> NcclTransport::open(const Communicator& communicator,
                                             std::vector<Message> messages, Memory fields) const {
  const std::shared_ptr<Connection> connection = Connection::of(communicator);
  if (nccl::are_puts_wanted(communicator)) return nccl::open_put_channel(communicator, messages);
  if (!kernels_reach(communicator, connection, messages))
    return nccl::open_grouped_channel(communicator, std::move(messages), fields);
  const auto open = [&](std::int64_t bytes, const std::vector<int>& peers,
                        const std::vector<ReachedMemory::Offsets>& offsets) {
    return reached_memory(communicator, connection, bytes, peers, offsets);
  };
  return open_kernel_channel(
      communicator, std::move(messages), {.transport = "nccl", .open = open},
      connection->note() + "; kernels store into the peers' memory, whose addresses it gives");
}

std::unique_ptr<Gather> NcclTransport::open_gather(const Communicator& communicator) const {
  return std::make_unique<NcclGather>(communicator);
}

void NcclTransport::forget(const Communicator& communicator) const {
  communicator.state().forget<Connection>();
}

std::vector<std::filesystem::path> NcclTransport::files(const Variables& variables) const {
  const std::filesystem::path file = file_to_load(nccl::library_to_find, variables);
  return file.empty() ? std::vector<std::filesystem::path>{} : std::vector{file};
}

}  // namespace halocline::transport
