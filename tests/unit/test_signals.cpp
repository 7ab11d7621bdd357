// SPDX-License-Identifier: Apache-2.0
// Signals that end a process which computes.

#include <csignal>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/temporary_file.hpp"
#include "cli/signals.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::cli {
namespace {

class SignalsThatEnd : public testing::TestWithParam<int> {};

void end_by(int signal, const std::string& path) {
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const EndingSignals signals(EndingSignals::Says::which);
  const TemporaryFile file(path);
  ::raise(signal);
}

TEST_P(SignalsThatEnd, LeaveNoPartOfAFile) {
  const test::TemporaryFolder folder;
  EXPECT_EXIT(end_by(GetParam(), folder / "u.npy"), testing::KilledBySignal(GetParam()),
              "halocline: ended by signal " + std::to_string(GetParam()) + " ");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

INSTANTIATE_TEST_SUITE_P(Signals, SignalsThatEnd,
                         testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
                                         SIGXCPU, SIGALRM));

}  // namespace
}  // namespace halocline::cli
