// SPDX-License-Identifier: Apache-2.0
// Signals that ask a run to stop.

#include <signal.h>
#include <unistd.h>

#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "cli/signals.hpp"

namespace halocline::test {
namespace {

using cli::StopSignals;

constexpr std::pair<int, const char*> asking[] = {{SIGINT, "SIGINT"},   {SIGTERM, "SIGTERM"},
                                                  {SIGHUP, "SIGHUP"},   {SIGUSR1, "SIGUSR1"},
                                                  {SIGUSR2, "SIGUSR2"}, {SIGXCPU, "SIGXCPU"}};

TEST(StopSignals, NoteTheFirstThatAsksForTheEnd) {
  for (const auto& [number, name] : asking) {
    const StopSignals signals;
    EXPECT_EQ(StopSignals::noted(), "");
    ::raise(number);
    EXPECT_EQ(StopSignals::noted(), name);
    ::raise(SIGTERM);
    EXPECT_EQ(StopSignals::noted(), name) << "a second one asks for no more";
    EXPECT_EQ(cli::name_of_signal(number), name);
  }
}

TEST(StopSignals, LeaveTheEndToASecondInterrupt) {
  for (const int second : {SIGINT, SIGTERM})
    EXPECT_EXIT(
        {
          ::signal(SIGINT, SIG_DFL);
          const StopSignals signals;
          ::raise(SIGINT);
          ::raise(second);
          ::_exit(0);
        },
        [&](int status) {
          return second == SIGINT ? WIFSIGNALED(status) && WTERMSIG(status) == SIGINT
                                  : WIFEXITED(status);
        },
        "");
}

TEST(StopSignals, LetIgnoredOnesBeIgnored) {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  {
    const StopSignals signals;
    ::raise(SIGHUP);
    EXPECT_EQ(StopSignals::noted(), "");
  }
  EXPECT_EQ(::signal(SIGHUP, before), SIG_IGN);
}

TEST(StopSignals, AreAsBeforeAtTheEnd) {
  const auto before = ::signal(SIGUSR1, SIG_IGN);
  ::signal(SIGUSR1, SIG_DFL);
  { const StopSignals signals; }
  EXPECT_EQ(::signal(SIGUSR1, before), SIG_DFL);
}

}  // namespace
}  // namespace halocline::test
