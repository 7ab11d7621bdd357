// SPDX-License-Identifier: Apache-2.0
// What MPI leaves behind of jobs that are killed, made up here.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/process/host_name.hpp"
#include "launch/child.hpp"
#include "launch/job.hpp"
#include "launch/stale_files.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// A file in /dev/shm as a rank of Open MPI names it; its job is a process of these tests.
std::string segment_of(std::uint32_t job) {
  const std::string path = fmt::format("/dev/shm/vader_segment.test.0.{:x}.1", job);
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  ::close(file);
  return path;
}

std::uint32_t own_job(std::uint32_t number) {
  return static_cast<std::uint32_t>(::getpid()) * 16 + number;
}

TEST(StaleFiles, AreAlsoFilesThatComeAfterTheLastNote) {
  const TemporaryFolder folder;
  const std::uint32_t job = own_job(1);
  const auto [rank, error] = start({.path = "/bin/sleep",
                                    .arguments = {"sleep", "100"},
                                    .environment = {fmt::format("PMIX_NAMESPACE={}", job)},
                                    .default_signals = {}});
  ASSERT_EQ(error, 0);
  std::string node = host_name();
  node = node.substr(0, node.find('.'));
  folder.put(fmt::format("ompi.{}.0/pid.{}/contact.txt", node, rank), "");
  folder.put(fmt::format("ompi.elsewhere.0/pid.{}/contact.txt", rank), "");
  folder.put("ompi.patch", "");
  StaleFiles stale_files;
  stale_files.note({{rank, 0}}, {{"TMPDIR", folder / ""}});
  ::kill(rank, SIGKILL);
  ::waitpid(rank, nullptr, 0);
  const std::string segment = segment_of(job), of_another = segment_of(own_job(2));
  stale_files.remove();
  EXPECT_FALSE(fs::exists(segment));
  EXPECT_TRUE(fs::remove(of_another));
  EXPECT_FALSE(fs::exists(folder / fmt::format("ompi.{}.0", node)));
  EXPECT_TRUE(fs::exists(folder / fmt::format("ompi.elsewhere.0/pid.{}/contact.txt", rank)));
  EXPECT_TRUE(fs::exists(folder / "ompi.patch"));
}

TEST(StaleFiles, OfAKilledLauncherAreRemoved) {
  const std::uint32_t job = own_job(3);
  const std::string segment = segment_of(job);
  JobOptions options;
  options.output = JobOutput::capture;
  options.mark = "the-mark: ";
  const std::string script = fmt::format(
      "PMIX_NAMESPACE={} setsid sleep 100 & echo $!; echo 'the-mark: begins' >&2; sleep 1; kill -9 "
      "$$",
      job);
  const JobEnd end = run_job({"/bin/sh", "-c", script}, {}, options);
  EXPECT_EQ(end.how, JobEnd::How::signalled);
  EXPECT_FALSE(fs::exists(segment));
  std::ifstream status(fmt::format("/proc/{}/stat", std::stoi(end.out)));
  std::string id, name, state = "gone";
  status >> id >> name >> state;
  EXPECT_TRUE(state == "gone" || state == "Z") << state;
}

}  // namespace
}  // namespace halocline::test
