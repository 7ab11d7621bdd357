#include "exchange/race.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "base/recorder.hpp"
#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"

namespace halocline::exchange {
namespace {

using transport::Channel;
using transport::Message;

std::int64_t largest(const std::vector<Message>& messages) {
  std::int64_t bytes = 0;
  for (const Message& message : messages)
    bytes =
        std::max({bytes, transport::bytes_of(message.send), transport::bytes_of(message.receive)});
  return bytes;
}

/// An exchange with the copies between fields and slots: these may be what takes long, where a
/// GPU's fields meet slots in the host's memory.
void run_once(Channel& channel, const std::vector<Message>& messages, void* field, Stream stream) {
  for (std::size_t m = 0; m < messages.size(); ++m)
    device::copy(channel.send_slots(m).even, field, transport::bytes_of(messages[m].send), stream);
  channel.start(stream);
  channel.finish(stream);
  for (std::size_t m = 0; m < messages.size(); ++m)
    device::copy(field, channel.receive_slots(m).even, transport::bytes_of(messages[m].receive),
                 stream);
  device::synchronize(stream);
}

}  // namespace

double microseconds_of(const Communicator& communicator, const transport::Transport& transport,
                       std::vector<Message> messages, Memory fields) {
  // The first messages map memory and connect: up to 0.2 s.
  constexpr int warm_up = 3, timed = 5;
  messages = transport::not_in_place(std::move(messages));
  std::unique_ptr<Channel> channel;
  std::shared_ptr<void> field;
  std::optional<device::OwnedStream> own;
  comm::together(communicator, [&] {
    channel = transport.open(communicator, messages, fields);
    field = device::allocate(fields, largest(messages));
    if (gpu_reads(fields)) own.emplace();
  });
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < warm_up + timed; ++i) {
    comm::barrier(communicator);
    const auto start = Clock::now();
    run_once(*channel, messages, field.get(), own ? own->get() : Stream::host());
    const double seconds = comm::max_over_ranks(
        communicator, std::chrono::duration<double>(Clock::now() - start).count());
    if (i >= warm_up) best = std::min(best, seconds);
  }
  return best * 1e6;
}

}  // namespace halocline::exchange
