// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/watchdog.hpp"

namespace halocline::comm {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// What a watchdog said, from its own thread.
class Heard {
 public:
  Watchdog::Handler handler() {
    return [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      texts_.push_back(text);
    };
  }
  std::vector<std::string> texts() const {
    const std::lock_guard lock(mutex_);
    return texts_;
  }
  void await(std::size_t count) const {
    for (int turn = 0; texts().size() < count && turn < 5000; ++turn)
      std::this_thread::sleep_for(milliseconds(1));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
};

TEST(Watchdog, SaysOnceWhatDoesNotReturn) {
  Heard heard;
  Watchdog watchdog;
  watchdog.set_handler(heard.handler(), milliseconds(20));
  {
    const Watchdog::Guard guard(watchdog, "MPI_Barrier");
    heard.await(1);
    std::this_thread::sleep_for(milliseconds(60));
  }
  EXPECT_THAT(heard.texts(), ElementsAre(HasSubstr("MPI_Barrier has not returned for 0.02 s")));
}

TEST(Watchdog, IsSilentAboutWhatReturns) {
  Heard heard;
  Watchdog watchdog;
  watchdog.set_handler(heard.handler(), std::chrono::seconds(5));
  for (int call = 0; call < 1000; ++call) const Watchdog::Guard guard(watchdog, "MPI_Barrier");
  std::this_thread::sleep_for(milliseconds(10));
  EXPECT_THAT(heard.texts(), IsEmpty());
}

TEST(Watchdog, GivesEveryCallItsOwnTime) {
  Heard heard;
  Watchdog watchdog;
  watchdog.set_handler(heard.handler(), std::chrono::seconds(1));
  const auto end = std::chrono::steady_clock::now() + milliseconds(1300);
  // All calls together last longer than the limit, none alone does.
  while (std::chrono::steady_clock::now() < end) {
    const Watchdog::Guard guard(watchdog, "MPI_Win_fence");
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_THAT(heard.texts(), IsEmpty());
}

TEST(Watchdog, GuardsOnAfterACallWithinAnother) {
  Heard heard;
  Watchdog watchdog;
  watchdog.set_handler(heard.handler(), milliseconds(20));
  const Watchdog::Guard outer(watchdog, "an exchange");
  { const Watchdog::Guard inner(watchdog, "MPI_Barrier"); }
  heard.await(1);
  EXPECT_THAT(heard.texts(), ElementsAre(HasSubstr("an exchange has not returned")));
}

TEST(Watchdog, GuardsAgainAfterItHasBeenIdle) {
  Heard heard;
  Watchdog watchdog;
  watchdog.set_handler(heard.handler(), milliseconds(20));
  std::this_thread::sleep_for(milliseconds(70));  // its thread sleeps, and nobody wakes it
  const Watchdog::Guard guard(watchdog, "MPI_Waitall");
  heard.await(1);
  EXPECT_THAT(heard.texts(), ElementsAre(HasSubstr("MPI_Waitall has not returned")));
}

TEST(Watchdog, HasANewLimitAtOnce) {
  Heard heard;
  Watchdog watchdog;
  watchdog.set_handler(heard.handler(), std::chrono::hours(1));
  std::this_thread::sleep_for(milliseconds(10));
  watchdog.set_handler(heard.handler(), milliseconds(20));
  const Watchdog::Guard guard(watchdog, "MPI_Barrier");
  heard.await(1);
  EXPECT_EQ(heard.texts().size(), 1U);
  watchdog.set_handler(nullptr, milliseconds(20));
}

TEST(Watchdog, DoesNothingWithoutAHandlerOrALimit) {
  Heard heard;
  Watchdog without_handler, without_limit;
  without_limit.set_handler(heard.handler(), milliseconds(0));
  const Watchdog::Guard first(without_handler, "first"), second(without_limit, "second");
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_THAT(heard.texts(), IsEmpty());
}

}  // namespace
}  // namespace halocline::comm
