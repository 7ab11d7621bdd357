// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which of two transports is faster for the messages of a plan.

#include <memory>
#include <optional>
#include <vector>

#include "device/allocator.hpp"
#include "device/queue.hpp"
#include "transport/transport.hpp"

namespace halocline::exchange {

/// What stands for fields in a trial.
struct TrialFields {
  Memory memory = Memory::host;
  device::Allocator allocator = device::Allocator::ordinary;
  enum class Placement {
    in_slots,  ///< copied to and from slots in one piece, as fast as packing may be
    in_place   ///< sent and received where they are; for transports that can
  } placement = Placement::in_slots;
};

/// Exchanges of such messages through `transport` in memory of its own. Opening it is collective;
/// throws what opening throws, the same on every rank.
class Trial {
 public:
  Trial(const Communicator& communicator, const transport::Transport& transport,
        std::vector<transport::Message> messages, const TrialFields& fields);

  /// One exchange, done on return. All peers must call it together.
  void run();
  /// Gives so many exchanges to the stream and waits for them once. For transports that need no
  /// host in between.
  void run_queued(int count);

  transport::Channel& channel() { return *channel_; }
  /// In place as they were wanted.
  const std::vector<transport::Message>& messages() const { return messages_; }

 private:
  void place_fields(const TrialFields& fields);
  Stream stream() const { return own_ ? own_->get() : Stream::host(); }
  void queue();

  std::vector<transport::Message> messages_;
  std::vector<std::shared_ptr<void>> fields_;
  // After what it sends from and receives into: it is closed first.
  std::unique_ptr<transport::Channel> channel_;
  std::optional<device::OwnedStream> own_;
};

/// Microseconds that an exchange of such messages takes through `transport`, the best of a few
/// after some to warm up; the slowest rank's. Where all of it is work on a GPU's stream, many are
/// queued at once, as a run would: a wait of the host for each would hide what they take.
/// Collective; throws what opening and exchanging throw.
double microseconds_of(const Communicator& communicator, const transport::Transport& transport,
                       std::vector<transport::Message> messages, Memory fields);

}  // namespace halocline::exchange
