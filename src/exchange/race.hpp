#pragma once
// Which of two transports is faster for the messages of a plan.

#include <memory>
#include <optional>
#include <vector>

#include "device/queue.hpp"
#include "transport/transport.hpp"

namespace halocline::exchange {

/// Exchanges of such messages through `transport` in memory of its own; fields are copied to and
/// from slots in one piece, as fast as packing may be. Opening it is collective; throws what
/// opening throws, the same on every rank.
class Trial {
 public:
  Trial(const Communicator& communicator, const transport::Transport& transport,
        std::vector<transport::Message> messages, Memory fields);

  /// One exchange, done on return. All peers must call it together.
  void run();

  transport::Channel& channel() { return *channel_; }
  const std::vector<transport::Message>& messages() const { return messages_; }

 private:
  std::vector<transport::Message> messages_;
  std::unique_ptr<transport::Channel> channel_;
  std::shared_ptr<void> field_;
  std::optional<device::OwnedStream> own_;
};

/// Microseconds that an exchange of such messages takes through `transport`, the best of a few
/// after some to warm up; the slowest rank's. Collective; throws what opening and exchanging throw.
double microseconds_of(const Communicator& communicator, const transport::Transport& transport,
                       std::vector<transport::Message> messages, Memory fields);

}  // namespace halocline::exchange
