// SPDX-License-Identifier: Apache-2.0
// Flags and windows between ranks of different speed, over the transport whose memory the host can
// reach: as kernels use them, and through start and finish.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <halocline/communicator.hpp>

#include "base/process/environment.hpp"
#include "support/communicators.hpp"
#include "support/conversation.hpp"
#include "support/port_kernel.hpp"
#include "support/random.hpp"
#include "support/ranks.hpp"
#include "transport/transport.hpp"

namespace halocline::test {
namespace {

using transport::Message;
using transport::Part;
using Sizes = std::optional<std::vector<std::int64_t>>;

const Pattern both_ways{"BothWays",
                        [](int from, int to, int) { return Sizes{{8 + 61 * from + 13 * to}}; }};
// Halos of one side: data goes to the next rank, a bare signal comes back. Two ranks are a line,
// more are a ring.
const Pattern one_sided{"OneSided", [](int from, int to, int ranks) {
                          const bool is_next = from + 1 == to || (from + 1 == ranks && to == 0);
                          return is_next && (ranks > 2 || from < to) ? Sizes{{40 + 7 * from}}
                                                                     : Sizes{};
                        }};

std::vector<Message> messages_of(const Pattern& pattern, int me, int ranks) {
  const auto parts_of = [](const Sizes& sizes) {
    return sizes ? std::vector<Part>{{nullptr, sizes->front()}} : std::vector<Part>{};
  };
  std::vector<Message> messages;
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == me) continue;
    const Sizes said = pattern.parts(me, peer, ranks), heard = pattern.parts(peer, me, ranks);
    if (!said && !heard) continue;
    messages.push_back({.peer = peer,
                        .send = parts_of(said),
                        .receive = parts_of(heard),
                        .label = "a test's words"});
  }
  return messages;
}

void sleep_for(std::int64_t microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

/// Nothing, most of the time; another one on each rank, the same again with the same seed.
class Delays {
 public:
  explicit Delays(std::int64_t once_in)
      : random_(static_cast<std::uint64_t>(rank())), once_in_(once_in) {}
  void delay() {
    if (random_.once_in(once_in_)) sleep_for(random_.between(1, 2'000));
  }

 private:
  Random random_;
  std::int64_t once_in_;
};

/// HALOCLINE_EPOCHS, or so many that a test takes a second where ranks share two cores.
std::int64_t many_epochs() {
  const auto text = environment("HALOCLINE_EPOCHS");
  return text ? std::stoll(*text) : 10'000;
}

class FlowControl : public testing::TestWithParam<Pattern> {
 protected:
  FlowControl()
      : messages_(messages_of(GetParam(), rank(), ranks())),
        channel_(shared().open(communicator_, messages_, Memory::host)),
        kernel_(rank(), *channel_, messages_) {}

  static const transport::Transport& shared() { return transport::find_transport("shared"); }

  const Communicator& communicator_ = communicator_with();
  const std::vector<Message> messages_;
  const std::unique_ptr<transport::Channel> channel_;
  PortKernel kernel_;
};

TEST_P(FlowControl, BearsRandomDelaysOfKernels) {
  SCOPED_TRACE(how_to_repeat(static_cast<std::uint64_t>(rank())));
  Delays delays(4);
  for (int epoch = 0; epoch < 100; ++epoch) {
    delays.delay();
    kernel_.push();
    delays.delay();
    kernel_.pull();
    delays.delay();
    // The neighbours may have begun the next epoch by now.
    kernel_.pull();
  }
}

TEST_P(FlowControl, BearsRandomDelaysOfStartAndFinish) {
  SCOPED_TRACE(how_to_repeat(static_cast<std::uint64_t>(rank())));
  Conversation conversation(communicator_, {.transport = &shared()}, GetParam());
  Delays delays(4);
  for (int epoch = 0; epoch < 100; ++epoch) {
    delays.delay();
    conversation.start();
    delays.delay();
    conversation.finish();
    delays.delay();
  }
}

// All others are as fast as they can be; they must neither pass the slow rank nor write what it
// still reads.
TEST_P(FlowControl, BearsOneSlowRank) {
  for (int slow = 0; slow < ranks(); ++slow)
    for (int epoch = 0; epoch < 24; ++epoch) {
      const bool sleeps = slow == rank();
      if (sleeps && epoch % 3 == 0) sleep_for(2'000);
      kernel_.push();
      if (sleeps && epoch % 3 == 1) sleep_for(2'000);
      kernel_.pull();
      if (sleeps && epoch % 3 == 2) sleep_for(2'000);
      kernel_.pull();
    }
}

TEST_P(FlowControl, CarriesManyEpochs) {
  SCOPED_TRACE(how_to_repeat(static_cast<std::uint64_t>(rank())));
  const std::int64_t epochs = many_epochs();
  // 3 us each on 4 ranks that share two cores with nobody.
  allow(std::chrono::seconds(60 + epochs / 10'000));
  Delays delays(2'000);
  bool right = true;
  // A rank whose data is wrong goes on pushing, for the others' sake, and stops looking.
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    kernel_.push();
    delays.delay();
    if (right) right = kernel_.pull();
  }
  EXPECT_EQ(*channel_->port()->epoch, static_cast<std::uint64_t>(epochs));
}

INSTANTIATE_TEST_SUITE_P(Halos, FlowControl, testing::Values(both_ways, one_sided),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace halocline::test
