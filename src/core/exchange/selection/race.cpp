// SPDX-License-Identifier: Apache-2.0
#include "exchange/selection/race.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/recorder.hpp"
#include "comm/collectives.hpp"
#include "link/wait_for.hpp"

namespace halocline::exchange {
namespace {

using transport::Message;
using transport::Part;

std::int64_t largest(const std::vector<Message>& messages) {
  std::int64_t bytes = 0;
  for (const Message& message : messages)
    bytes =
        std::max({bytes, transport::bytes_of(message.send), transport::bytes_of(message.receive)});
  return bytes;
}

bool is_in_place(const Message& message) { return transport::in_place(message.send) != nullptr; }

}  // namespace

Trial::Trial(const Communicator& communicator, const transport::Transport& transport,
             std::vector<Message> messages, const TrialFields& fields)
    : communicator_(communicator), messages_(transport::not_in_place(std::move(messages))) {
  comm::together(communicator, [&] { place_fields(fields); });
  comm::together(communicator, [&] {
    channel_ = transport.open(communicator, messages_, fields.memory);
    if (!channel_->takes_in_place()) {
      messages_ = transport::not_in_place(std::move(messages_));
      fields_.clear();
      place_fields({.memory = fields.memory, .allocator = fields.allocator});
    }
    if (gpu_reads(fields.memory)) own_.emplace();
  });
}

void Trial::place_fields(const TrialFields& fields) {
  const auto allocate = [&](std::int64_t bytes) {
    fields_.push_back(device::allocate(fields.memory, bytes, fields.allocator));
    return fields_.back().get();
  };
  if (fields.placement == TrialFields::Placement::in_slots) {
    allocate(largest(messages_));
    return;
  }
  for (Message& message : messages_)
    for (std::vector<Part>* parts : {&message.send, &message.receive}) {
      const std::int64_t bytes = transport::bytes_of(*parts);
      *parts = {{allocate(bytes), bytes}};
    }
}

// Includes the copies between fields and slots: these may take most of the time if a GPU's fields
// use slots in host memory.
void Trial::queue() {
  const Stream stream = this->stream();
  for (std::size_t m = 0; m < messages_.size(); ++m)
    if (!is_in_place(messages_[m]))
      device::copy(channel_->send_slots(m).even, fields_.front().get(),
                   transport::bytes_of(messages_[m].send), stream);
  channel_->start(stream);
  channel_->finish(stream);
  for (std::size_t m = 0; m < messages_.size(); ++m)
    if (!is_in_place(messages_[m]))
      device::copy(fields_.front().get(), channel_->receive_slots(m).even,
                   transport::bytes_of(messages_[m].receive), stream);
}

void Trial::run() { run_queued(1); }

void Trial::run_queued(int count) {
  for (int i = 0; i < count; ++i) queue();
  link::wait_for(communicator_, stream());
}

double microseconds_of(const Communicator& communicator, const transport::Transport& transport,
                       Trial& trial) {
  // The first messages map memory and connect: up to 0.2 s.
  constexpr int warm_up = 3, timed = 5;
  const int at_once = trial.is_on_gpu() && transport.capabilities().stays_on_stream() ? 32 : 1;
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < warm_up + timed; ++i) {
    comm::barrier(communicator);
    const auto start = Clock::now();
    trial.run_queued(at_once);
    const double seconds = comm::max_over_ranks(
        communicator, std::chrono::duration<double>(Clock::now() - start).count());
    if (i >= warm_up) best = std::min(best, seconds);
  }
  return best / at_once * 1e6;
}

}  // namespace halocline::exchange
