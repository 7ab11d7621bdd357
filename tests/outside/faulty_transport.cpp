// SPDX-License-Identifier: Apache-2.0
#include "outside/faulty_transport.hpp"

#include <utility>

namespace halocline::test {
namespace {

using transport::Channel;
using transport::Message;

class FaultyChannel final : public Channel {
 public:
  FaultyChannel(std::unique_ptr<Channel> channel, std::vector<Message> messages, Fault fault)
      : channel_(std::move(channel)), messages_(std::move(messages)), fault_(std::move(fault)) {}
  transport::Slots send_slots(std::size_t m) override { return channel_->send_slots(m); }
  transport::Slots receive_slots(std::size_t m) override { return channel_->receive_slots(m); }
  void start(Stream stream) override { channel_->start(stream); }
  bool progress() override { return channel_->progress(); }
  void finish(Stream stream) override {
    channel_->finish(stream);
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      const transport::Slots slots = receive_slots(m);
      const std::int64_t bytes = transport::bytes_of(messages_[m].receive);
      fault_(epoch() % 2 == 0 ? slots.even : slots.odd, bytes);
    }
  }
  std::uint64_t epoch() const override { return channel_->epoch(); }

 private:
  std::unique_ptr<Channel> channel_;
  std::vector<Message> messages_;
  Fault fault_;
};

const bool faulty_is_added = [] {
  transport::add_transport(faulty());
  return true;
}();

}  // namespace

/// Without parts in place: a fault is about memory of the channel.
transport::Capabilities FaultyTransport::capabilities() const {
  transport::Capabilities of_mpi = mpi_.capabilities();
  of_mpi.in_place = false;
  return of_mpi;
}

std::unique_ptr<Channel> FaultyTransport::open(const Communicator& communicator,
                                               std::vector<Message> messages, Memory memory) const {
  return std::make_unique<FaultyChannel>(mpi_.open(communicator, messages, memory), messages,
                                         fault_);
}

FaultyTransport& faulty() {
  static FaultyTransport transport;
  return transport;
}

}  // namespace halocline::test
