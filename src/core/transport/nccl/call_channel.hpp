// SPDX-License-Identifier: Apache-2.0
#pragma once
// Channels whose exchanges are calls of NCCL, queued on the stream that packs.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/queue.hpp"
#include "device/stream_clock.hpp"
#include "transport/nccl/connection.hpp"
#include "transport/nccl/window.hpp"
#include "transport/transport.hpp"

namespace halocline::transport::nccl {

/// Calls that NCCL queues together at the end. An error in between ends the group too: calls of
/// this thread would stay in it.
class Group {
 public:
  explicit Group(const Connection& connection);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void end();

 private:
  const Connection& connection_;
  bool is_open_ = true;
};

/// Returns memory that NCCL has registered on all ranks; null if it registers none, which it is
/// asked once. Collective.
std::shared_ptr<Window> registered(const Communicator& communicator,
                                   const std::shared_ptr<Connection>& connection,
                                   std::int64_t bytes);

/// start() queues all calls of an exchange, so that what follows on its stream finds the bytes.
class CallChannel : public Channel, private Connection::User {
 public:
  CallChannel(const Communicator& communicator, std::vector<Message> messages);

  void start(Stream stream) final;
  bool progress() final;
  void finish(Stream stream) final;
  std::string note() const override { return connection_->note(); }

 protected:
  virtual void queue_calls(Stream queue) = 0;

  /// Reserves room for parts among the slots, whose bytes so far it adds to.
  static std::int64_t take_slot(const std::vector<Part>& parts, std::int64_t& bytes);

  const Communicator& communicator() const { return communicator_; }
  const std::vector<Message>& messages() const { return messages_; }
  const std::shared_ptr<Connection>& connection() const { return connection_; }

 private:
  std::string awaited() const override;

  Communicator communicator_;
  std::vector<Message> messages_;
  std::shared_ptr<Connection> connection_;
  Connection::Registration registration_;
  std::optional<device::OwnedStream> own_;  // for the host's stream
  device::Event arrived_;
  device::StreamClock clock_;
  bool is_started_ = false;
};

/// Opens a channel of grouped sends and receives. Collective.
std::unique_ptr<Channel> open_grouped_channel(const Communicator& communicator,
                                              std::vector<Message> messages, Memory fields);

}  // namespace halocline::transport::nccl
