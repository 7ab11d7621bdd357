// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/nccl.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "comm/state.hpp"
#include "comm/waiting.hpp"
#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "transport/nccl/library.hpp"

namespace halocline::transport {
namespace {

using nccl::Library;

/// NCCL's communicator of the ranks of one of ours, which all its channels share: each has memory
/// of some hundred MiB, and takes about half a second to make (H200, NCCL 2.28).
class Connection {
 public:
  /// Collective. Throws resource, the same on every rank.
  Connection(const Communicator& communicator, const Library& library)
      : communicator_(communicator), library_(library) {
    nccl::UniqueId id{};
    comm::on_first_rank(communicator,
                        [&] { check(library.get_unique_id(&id), "ncclGetUniqueId"); });
    const std::string bytes =
        comm::broadcast(communicator, std::string(id.bytes, sizeof id.bytes), 0);
    std::memcpy(id.bytes, bytes.data(), sizeof id.bytes);
    comm::together(communicator, [&] {
      check(library.comm_init_rank(&comm_, communicator.size(), id, communicator.rank()),
            "ncclCommInitRank");
    });
  }

  ~Connection() {
    // Others that are lost would be waited for; aborting under a graph waits too (2.28.9).
    if (comm_ != nullptr && !communicator_.state().others_may_be_gone())
      library_.comm_destroy(comm_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  nccl::Comm* get() const { return comm_; }

  void check(int result, const char* call) const {
    if (result == nccl::success) return;
    const char* const last = library_.last_error(nullptr);
    throw Error(
        ErrorKind::resource,
        fmt::format("{}: {}{}{} (NCCL {} at '{}')", call, library_.error_text(result),
                    last != nullptr && *last != '\0' ? ": " : "", last != nullptr ? last : "",
                    nccl::version_text(library_.version), library_.path));
  }

  /// Throws communication if NCCL has found that a peer or the network is lost.
  void check_async() const {
    int result = nccl::success;
    library_.comm_get_async_error(comm_, &result);
    if (result != nccl::success)
      throw Error(
          ErrorKind::communication,
          fmt::format("NCCL lost another rank, or the network: {}", library_.error_text(result)));
  }

 private:
  Communicator communicator_;
  const Library& library_;
  nccl::Comm* comm_ = nullptr;
};

/// The one of a communicator, made when its first channel is opened. Collective.
std::shared_ptr<Connection> connection_of(const Communicator& communicator,
                                          const Library& library) {
  static std::mutex mutex;
  static std::map<const comm::State*, std::weak_ptr<Connection>> connections;
  const std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<Connection>& known = connections[&communicator.state()];
  std::shared_ptr<Connection> connection = known.lock();
  if (!connection) known = connection = std::make_shared<Connection>(communicator, library);
  return connection;
}

class NcclChannel final : public Channel, private comm::InFlight {
 public:
  NcclChannel(const Communicator& communicator, std::vector<Message> messages, Memory fields,
              const Library& library)
      : communicator_(communicator), messages_(std::move(messages)), library_(library) {
    comm::together(communicator, [&] {
      for (const Message& message : messages_) {
        send_.push_back(memory_of(message.send, fields));
        receive_.push_back(memory_of(message.receive, fields));
      }
    });
    connection_ = connection_of(communicator, library);
  }

  ~NcclChannel() override { leave(); }

  Slots send_slots(std::size_t message) override {
    return slot_of(messages_[message].send, send_[message]);
  }
  Slots receive_slots(std::size_t message) override {
    return slot_of(messages_[message].receive, receive_[message]);
  }

  /// Calls queue on the stream; while it is recorded, a graph takes them.
  void start(Stream stream) override {
    connection_->check_async();
    const Stream queue = stream.is_host() ? own_.get() : stream;
    connection_->check(library_.group_start(), "ncclGroupStart");
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      const Message& message = messages_[m];
      connection_->check(
          library_.send(send_[m].get(), static_cast<std::size_t>(bytes_of(message.send)),
                        nccl::bytes_type, message.peer, connection_->get(), queue.native()),
          "ncclSend");
      connection_->check(
          library_.receive(receive_[m].get(), static_cast<std::size_t>(bytes_of(message.receive)),
                           nccl::bytes_type, message.peer, connection_->get(), queue.native()),
          "ncclRecv");
    }
    connection_->check(library_.group_end(), "ncclGroupEnd");
    if (stream.is_host()) {
      arrived_.record(queue);
      enter();
    }
  }

  bool progress() override {
    connection_->check_async();
    return true;
  }

  void finish(Stream stream) override {
    if (!stream.is_host()) return;  // what follows on the stream finds the bytes
    comm::wait_until(communicator_.state(),
                     {.site = "exchange, wait (nccl)", .missing = [this] { return missing(); }},
                     [this] { return arrived_.reached(); });
    leave();
  }

 private:
  void move_on() override { progress(); }

  static std::shared_ptr<void> memory_of(const std::vector<Part>& parts, Memory fields) {
    if (void* const there = in_place(parts)) return {there, [](void*) {}};
    return device::allocate(fields, bytes_of(parts));
  }
  static Slots slot_of(const std::vector<Part>& parts, const std::shared_ptr<void>& memory) {
    if (in_place(parts) != nullptr) return {};
    auto* const slot = static_cast<std::byte*>(memory.get());
    return {slot, slot};
  }

  std::string missing() const {
    std::string text;
    for (const Message& message : messages_)
      text +=
          fmt::format("{}rank {} ({})", text.empty() ? "" : " or ", message.peer, message.label);
    return text;
  }

  Communicator communicator_;
  std::vector<Message> messages_;
  const Library& library_;
  std::vector<std::shared_ptr<void>> send_, receive_;
  std::shared_ptr<Connection> connection_;
  device::OwnedStream own_;  // for the host's stream
  device::Event arrived_;
};

}  // namespace

std::optional<std::string> NcclTransport::missing_here() const {
  if (const auto why = device::no_gpu_because()) return why;
  if (nccl::library() == nullptr) return nccl::why_no_library();
  return std::nullopt;
}

std::optional<std::string> NcclTransport::unavailable(Pair pair, Memory fields) const {
  if (pair == Pair::self) return "copies inside a rank need no NCCL";
  if (fields == Memory::device) return std::nullopt;
  return "it is for device memory only";
}

std::unique_ptr<Channel> NcclTransport::open(const Communicator& communicator,
                                             std::vector<Message> messages, Memory fields) const {
  comm::together(communicator, [] {
    if (nccl::library() == nullptr) throw Error(ErrorKind::unavailable, nccl::why_no_library());
  });
  return std::make_unique<NcclChannel>(communicator, std::move(messages), fields, *nccl::library());
}

}  // namespace halocline::transport
