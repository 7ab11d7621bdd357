#include "proof/in_job.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "comm/collectives.hpp"

namespace halocline::proof {
namespace {

using transport::Slots;

// Beyond this the pattern is sampled: a plan for a huge halo shall not take seconds to make.
constexpr std::int64_t bytes_checked = std::int64_t{1} << 20;

std::byte pattern(int sender, int receiver, int round, std::int64_t at) {
  const auto mixed = static_cast<std::uint64_t>(sender) * 0x9E3779B97F4A7C15u +
                     static_cast<std::uint64_t>(receiver) * 0xBF58476D1CE4E5B9u +
                     static_cast<std::uint64_t>(round) * 0x94D049BB133111EBu +
                     static_cast<std::uint64_t>(at) * 0xD6E8FEB86659FD93u;
  return static_cast<std::byte>(mixed >> 56);
}

std::int64_t step_for(std::int64_t bytes) {
  return std::max<std::int64_t>(1, bytes / bytes_checked);
}

std::byte* slot(const Slots& slots, const transport::Channel& channel, std::uint64_t ahead) {
  const device::DevicePort* port = channel.port();
  return port != nullptr && (*port->epoch + ahead) % 2 != 0 ? slots.odd : slots.even;
}

}  // namespace

std::optional<std::string> prove(const Communicator& communicator, transport::Channel& channel,
                                 const std::vector<transport::Message>& messages) {
  const int me = communicator.rank();
  std::optional<std::string> wrong;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t m = 0; m < messages.size(); ++m) {
      const std::int64_t bytes = transport::bytes_of(messages[m].send);
      std::byte* to = slot(channel.send_slots(m), channel, 1);
      for (std::int64_t at = 0; at < bytes; at += step_for(bytes))
        to[at] = pattern(me, messages[m].peer, round, at);
    }
    channel.start(Stream::host());
    channel.finish(Stream::host());
    for (std::size_t m = 0; m < messages.size(); ++m) {
      const std::int64_t bytes = transport::bytes_of(messages[m].receive);
      const std::byte* from = slot(channel.receive_slots(m), channel, 0);
      for (std::int64_t at = 0; at < bytes && !wrong; at += step_for(bytes))
        if (from[at] != pattern(messages[m].peer, me, round, at))
          wrong = fmt::format("byte {} of {} from rank {} to rank {} did not arrive as sent", at,
                              bytes, messages[m].peer, me);
    }
  }
  return wrong;
}

}  // namespace halocline::proof
