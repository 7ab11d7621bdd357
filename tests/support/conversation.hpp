// SPDX-License-Identifier: Apache-2.0
#pragma once
// One channel and its messages, driven as an exchange would drive it, with payloads that name
// themselves. No grid, no field.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/memories.hpp"
#include "support/payload.hpp"
#include "transport/transport.hpp"

namespace halocline::test {

/// Who says how much to whom.
struct Pattern {
  std::string name;
  /// Bytes of the parts that go from one of `ranks` ranks to another; nothing if the first does
  /// not speak to the second. Two ranks share a message if either speaks.
  std::optional<std::vector<std::int64_t>> (*parts)(int from, int to, int ranks);
};

/// Messages to have in place where that is possible: those of one part.
enum class MessagePlacement { slots, in_place };

/// What carries a conversation.
struct Path {
  const transport::Transport* transport;
  Memory memory = Memory::host;  ///< where fields would be
};

/// On a GPU's stream nothing waits for the host: what is said is copied from the GPU's memory to
/// its place right before start(), and what is heard away from it right after finish(), both by
/// work that is queued. It is looked at some epochs later.
class Conversation {
 public:
  /// Collective. Leaves out the peers that the transport does not serve.
  Conversation(const Communicator& communicator, const Path& path, const Pattern& pattern,
               MessagePlacement placement = MessagePlacement::slots);
  Conversation(Conversation&&) noexcept = default;
  /// Looks at what has not been looked at, unless an epoch is in flight.
  ~Conversation();

  std::size_t messages() const { return messages_.size(); }
  transport::Channel& channel() { return *channel_; }

  /// Writes what this rank says in the coming epoch, and begins that epoch.
  void start();
  /// Ends the epoch, and expects of every byte that it is what the peers wrote.
  void finish();
  void run();
  /// Does now what finish() may have put off.
  void look();

 private:
  using Bytes = std::shared_ptr<std::byte>;
  /// Memory of one message and direction, with a guard on either side; null if not in place.
  struct Own {
    Bytes send, receive;
  };
  /// Copies of what is said and heard in one epoch, of each message.
  struct Epoch {
    std::vector<Bytes> said, heard;
  };
  static constexpr std::size_t epochs_until_look = 3;

  bool on_gpu() const { return gpu_reads(memory_); }
  Bytes allocate(Memory memory, std::int64_t bytes) const;
  void place_own_memory();
  Epoch& current() { return epochs_[epoch_ % epochs_until_look]; }
  std::byte* outgoing(std::size_t message);
  std::byte* incoming(std::size_t message);
  void look_at(std::uint64_t epoch);
  void expect_guards_untouched() const;

  int rank_;
  Memory memory_;
  TestStream stream_;
  std::vector<transport::Message> messages_;
  std::vector<Own> own_;
  std::array<Epoch, epochs_until_look> epochs_;
  std::unique_ptr<transport::Channel> channel_;
  std::uint64_t epoch_ = 0;
  bool in_flight_ = false;
  std::vector<std::uint64_t> not_looked_at_;
};

}  // namespace halocline::test
