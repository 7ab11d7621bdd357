// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/put_channel.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/environment.hpp"
#include "comm/collectives.hpp"
#include "comm/state.hpp"
#include "link/wait_for.hpp"
#include "transport/peer/channel.hpp"

namespace halocline::transport::nccl {
namespace {

/// A slot is written by the sender's put once the receiver has signalled that it has read it. NCCL
/// counts the signals of a peer, whatever they are for, so both sides make the same ones in one
/// order: a slot is free, a message has come. In graphs NCCL holds a second signal to a peer back
/// until the peer has waited for the first (2.30.3), which it has here.
class PutChannel final : public CallChannel {
 public:
  PutChannel(const Communicator& communicator, std::vector<Message> messages)
      : CallChannel(communicator, std::move(messages)) {
    std::int64_t bytes = 0;
    std::vector<ReachedMemory::Offsets> receive;
    for (const Message& message : this->messages()) {
      send_.push_back(take_slot(message.send, bytes));
      receive_.push_back(take_slot(message.receive, bytes));
      receive.push_back({receive_.back(), 0, 0});
      signals_.push_back({.count = 1, .peer = message.peer, .index = 0, .context = 0});
    }
    window_ = std::make_shared<Window>(communicator, connection(), bytes);
    theirs_ = swapped(communicator, peers_of(this->messages()), receive);
  }

  Slots send_slots(std::size_t message) override { return slots(send_[message]); }
  Slots receive_slots(std::size_t message) override { return slots(receive_[message]); }
  bool takes_in_place() const override { return false; }
  std::string note() const override { return CallChannel::note() + "; it puts with signals"; }

 private:
  Slots slots(std::int64_t offset) const {
    return {window_->mine() + offset, window_->mine() + offset};
  }

  void queue_calls(Stream queue) override {
    if (messages().empty()) return;
    signal(queue);
    wait(queue);
    Group group(*connection());
    for (std::size_t m = 0; m < messages().size(); ++m) put(m, queue);
    group.end();
    wait(queue);
  }

  void signal(Stream queue) {
    Group group(*connection());
    for (const Message& message : messages()) signal(message.peer, queue);
    group.end();
  }

  void signal(int peer, Stream queue) {
    connection()->check(
        connection()->library().signal(peer, 0, 0, 0, connection()->comm(), queue.native()),
        "ncclSignal");
  }

  void put(std::size_t m, Stream queue) {
    const Message& message = messages()[m];
    const std::int64_t bytes = bytes_of(message.send);
    if (bytes == 0) return signal(message.peer, queue);
    connection()->check(
        connection()->library().put_signal(
            window_->mine() + send_[m], static_cast<std::size_t>(bytes), bytes_type, message.peer,
            window_->registration(), static_cast<std::size_t>(theirs_[m][0]), 0, 0, 0,
            connection()->comm(), queue.native()),
        "ncclPutSignal");
  }

  void wait(Stream queue) {
    connection()->check(
        connection()->library().wait_signal(static_cast<int>(signals_.size()), signals_.data(),
                                            connection()->comm(), queue.native()),
        "ncclWaitSignal");
  }

  std::vector<std::int64_t> send_, receive_;  // offsets in the window
  std::vector<ReachedMemory::Offsets> theirs_;
  std::vector<WaitedSignals> signals_;
  std::shared_ptr<Window> window_;
};

/// Each rank signals itself, which makes all of them set signals up. Throws where NCCL cannot.
void set_up_signals(const Communicator& communicator, const Connection& connection) {
  const device::OwnedStream stream;
  comm::together(communicator, [&] {
    const comm::Watchdog::Guard guard(communicator.state().watchdog(), "ncclSignal");
    const Library& library = connection.library();
    void* const native = stream.get().native();
    WaitedSignals own{.count = 1, .peer = communicator.rank(), .index = 0, .context = 0};
    connection.check(library.signal(own.peer, 0, 0, 0, connection.comm(), native), "ncclSignal");
    connection.check(library.wait_signal(1, &own, connection.comm(), native), "ncclWaitSignal");
  });
  link::wait_for(communicator, stream.get());
}

Error no_puts(const Library& library, const std::string& why) {
  return {ErrorKind::unavailable, fmt::format("{}=on: NCCL {} at '{}' {}", puts_variable,
                                              version_text(library.version), library.path, why)};
}

}  // namespace

bool are_puts_wanted(const Communicator& communicator) {
  const bool wanted = environment(puts_variable) == "on";
  return comm::max_over_ranks(communicator, std::int64_t{wanted ? 1 : 0}) != 0;
}

std::unique_ptr<Channel> open_put_channel(const Communicator& communicator,
                                          const std::vector<Message>& messages) {
  const std::shared_ptr<Connection> connection = Connection::of(communicator);
  const Library& library = connection->library();
  comm::together(communicator, [&] {
    if (library.put_signal == nullptr)
      throw no_puts(library, fmt::format("is too old: {} is needed", version_text(puts_from)));
  });
  if (!registered(communicator, connection, 1))
    throw no_puts(library, "registers no memory here, which puts need");
  try {
    set_up_signals(communicator, *connection);
  } catch (const Error& error) {  // the same on every rank
    if (error.kind() == ErrorKind::communication) throw;
    throw no_puts(library, fmt::format("has no puts with signals here: {}", error.what()));
  }
  return std::make_unique<PutChannel>(communicator, not_in_place(messages));
}

}  // namespace halocline::transport::nccl
