// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times transports with the messages of a plan.

#include <memory>
#include <optional>
#include <vector>

#include "device/allocator.hpp"
#include "device/queue.hpp"
#include "transport/transport.hpp"

namespace halocline::exchange {

/// How a trial represents the fields.
struct TrialFields {
  Memory memory = Memory::host;
  device::Allocator allocator = device::Allocator::ordinary;
  enum class Placement {
    in_slots,  ///< copied to and from slots in one piece: the fastest possible packing
    in_place   ///< sent from and received into the fields; for transports that can
  } placement = Placement::in_slots;
};

/// Exchanges such messages through `transport`, in separate memory. The constructor is collective;
/// it throws as Transport::open(), the same on every rank.
class Trial {
 public:
  Trial(const Communicator& communicator, const transport::Transport& transport,
        std::vector<transport::Message> messages, const TrialFields& fields);

  /// Does one exchange, complete on return. All peers must call it together.
  void run();
  /// Queues `count` exchanges on the stream and waits for them once. For transports that do not
  /// need the host in between.
  void run_queued(int count);

  bool is_on_gpu() const { return own_.has_value(); }
  transport::Channel& channel() { return *channel_; }
  /// In place where requested.
  const std::vector<transport::Message>& messages() const { return messages_; }

 private:
  void place_fields(const TrialFields& fields);
  Stream stream() const { return own_ ? own_->get() : Stream::host(); }
  void queue();

  Communicator communicator_;
  std::vector<transport::Message> messages_;
  std::vector<std::shared_ptr<void>> fields_;
  // Declared after its buffers: it is closed first.
  std::unique_ptr<transport::Channel> channel_;
  std::optional<device::OwnedStream> own_;
};

/// Returns the microseconds per exchange of a trial of `transport`: the best of a few
/// after some to warm up, on the slowest rank. If all of an exchange is work on a GPU's stream,
/// many are queued at once, as in a run: with a wait of the host for each, that wait would dominate
/// the time. Collective; throws as Channel::finish().
double microseconds_of(const Communicator& communicator, const transport::Transport& transport,
                       Trial& trial);

}  // namespace halocline::exchange
