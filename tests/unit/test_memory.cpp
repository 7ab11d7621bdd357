// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include "solver/memory.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::solver {
namespace {

TEST(NodeMemory, IsThere) {
  const NodeMemory memory = node_memory();
  EXPECT_GT(memory.available_bytes, 0);
  EXPECT_LE(memory.available_bytes, memory.total_bytes);
}

/// Folders that stand for /proc and /sys/fs/cgroup. Sizes are far below those of any machine.
class ControlGroups : public testing::Test {
 protected:
  ControlGroups() {
    write("proc/meminfo", "MemTotal:       999 kB\nMemAvailable:   900 kB\nSwapTotal: 0 kB\n");
  }

  void write(const std::string& path, const std::string& text) const { folder_.put(path, text); }
  void write_group(const std::string& group, const std::string& limit, long used,
                   long files = 0) const {
    write(group + "/memory.max", limit + "\n");
    write(group + "/memory.current", std::to_string(used) + "\n");
    write(group + "/memory.stat", "anon 1\nfile " + std::to_string(files) + "\ninactive_file " +
                                      std::to_string(files / 2) + "\nactive_file " +
                                      std::to_string(files - files / 2) + "\n");
  }
  NodeMemory memory() const {
    return node_memory({.processes = folder_ / "proc", .control_groups = folder_ / "cgroup"});
  }

  const test::TemporaryFolder folder_;
};

TEST_F(ControlGroups, MayBeMissing) {
  EXPECT_EQ(memory().available_bytes, 900 * 1024);
  EXPECT_FALSE(memory().of_control_group);
  write("proc/self/cgroup", "0::/user.slice\n");
  EXPECT_EQ(memory().available_bytes, 900 * 1024);
}

TEST_F(ControlGroups, OfTheProcessCount) {
  write("proc/self/cgroup", "0::/system.slice/slurm/job_7/step_0\n");
  write_group("cgroup/system.slice/slurm/job_7/step_0", "500000", 100000);
  EXPECT_EQ(memory().available_bytes, 400000);
  EXPECT_EQ(memory().total_bytes, 500000);
  EXPECT_TRUE(memory().of_control_group);
}

TEST_F(ControlGroups, AboveTheProcessCount) {
  write("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  write_group("cgroup/slurm/job_7/step_0", "max", 100000);
  write_group("cgroup/slurm/job_7", "300000", 200000);
  write_group("cgroup/slurm", "800000", 790000);
  EXPECT_EQ(memory().available_bytes, 10000) << "others use what the outermost has";
  EXPECT_EQ(memory().total_bytes, 300000);
}

TEST_F(ControlGroups, GiveBackTheFilesThatTheyKeep) {
  write("proc/self/cgroup", "0::/job\n");
  write_group("cgroup/job", "500000", 490000, 300000);
  EXPECT_EQ(memory().available_bytes, 310000);
}

TEST_F(ControlGroups, OfAContainerAreAtItsRoot) {
  write("proc/self/cgroup", "0::/docker/0123456789abcdef\n");
  write_group("cgroup", "500000", 100000);
  EXPECT_EQ(memory().available_bytes, 400000);
}

TEST_F(ControlGroups, OfVersionOneCount) {
  write("proc/self/cgroup", "9:name=systemd:/\n5:cpu,cpuacct:/other\n4:memory:/job/step\n0::/\n");
  const std::string job = "cgroup/memory/job";
  write(job + "/step/memory.limit_in_bytes", "9223372036854771712\n");
  write(job + "/step/memory.usage_in_bytes", "100000\n");
  write(job + "/memory.limit_in_bytes", "600000\n");
  write(job + "/memory.usage_in_bytes", "400000\n");
  write(job + "/memory.stat", "cache 1\ntotal_inactive_file 50000\ntotal_active_file 0\n");
  EXPECT_EQ(memory().available_bytes, 250000);
  EXPECT_EQ(memory().total_bytes, 600000);
}

}  // namespace
}  // namespace halocline::solver
