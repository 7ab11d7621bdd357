#include "exchange/race.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "base/recorder.hpp"
#include "comm/collectives.hpp"

namespace halocline::exchange {

double microseconds_of(const Communicator& communicator, const transport::Transport& transport,
                       std::vector<transport::Message> messages, Memory fields) {
  // The first messages map memory and connect: up to 0.2 s.
  constexpr int warm_up = 3, timed = 5;
  std::unique_ptr<transport::Channel> channel;
  comm::together(communicator, [&] {
    channel = transport.open(communicator, transport::not_in_place(std::move(messages)), fields);
  });
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < warm_up + timed; ++i) {
    comm::barrier(communicator);
    const auto start = Clock::now();
    channel->start(Stream::host());
    channel->finish(Stream::host());
    const double seconds = comm::max_over_ranks(
        communicator, std::chrono::duration<double>(Clock::now() - start).count());
    if (i >= warm_up) best = std::min(best, seconds);
  }
  return best * 1e6;
}

}  // namespace halocline::exchange
