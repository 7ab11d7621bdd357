#pragma once
// One channel and its messages, driven as an exchange would drive it, with payloads that name
// themselves. No grid, no field.

#include <memory>
#include <optional>
#include <string>
#include <vector>

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
enum class Placement { slots, in_place };

class Conversation {
 public:
  /// Collective. Leaves out the peers that the transport does not serve.
  Conversation(const Communicator& communicator, const transport::Transport& transport,
               const Pattern& pattern, Placement placement = Placement::slots);

  std::size_t messages() const { return messages_.size(); }
  transport::Channel& channel() { return *channel_; }

  /// Writes what this rank says in the coming epoch, and begins that epoch.
  void start();
  /// Ends the epoch, and expects of every byte that it is what the peers wrote.
  void finish();
  void run();

 private:
  /// Memory of one message and direction, with a guard on either side.
  using Memory = std::vector<std::byte>;
  struct Own {
    Memory send, receive;
  };

  void place_own_memory();
  std::byte* outgoing(std::size_t message);
  std::byte* incoming(std::size_t message);
  void expect_guards_untouched() const;

  int rank_;
  std::vector<transport::Message> messages_;
  std::vector<Own> own_;
  std::unique_ptr<transport::Channel> channel_;
  std::uint64_t epoch_ = 0;
};

}  // namespace halocline::test
