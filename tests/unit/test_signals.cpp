// SPDX-License-Identifier: Apache-2.0
// Signals that end a process which computes.

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/files/temporary_file.hpp"
#include "cli/signals.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::cli {
namespace {

class SignalsThatEnd : public testing::TestWithParam<int> {};

/// What a process with an unfinished file does with a signal.
[[noreturn]] void end_by(int signal, const std::string& path, const std::string& said) {
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::dup2(::open(said.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
  const EndingSignals signals(EndingSignals::Message::printed);
  const TemporaryFile file(path);
  ::raise(signal);
  ::_exit(0);
}

TEST_P(SignalsThatEnd, LeaveNoPartOfAFile) {
  const test::TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) end_by(GetParam(), folder / "u.npy", folder / "said");
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == GetParam()) << status;
  std::ifstream said(folder / "said");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(said), {}),
              testing::HasSubstr("signal " + std::to_string(GetParam()) + " "));
  std::filesystem::remove(folder / "said");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

INSTANTIATE_TEST_SUITE_P(Signals, SignalsThatEnd,
                         testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
                                         SIGXCPU, SIGALRM));

}  // namespace
}  // namespace halocline::cli
