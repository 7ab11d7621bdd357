// What doctor reads of a node, from folders laid out like its own.

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/node_facts.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

using namespace doctor;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(DoctorFacts, LimitsOfAContainer) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "proc/self");
  std::filesystem::create_directories(folder / "proc/sys/kernel/yama");
  std::ofstream(folder / "proc/self/status") << "Name:\tx\nCapEff:\t0000000000080000\n";
  std::ofstream(folder / "proc/sys/kernel/yama/ptrace_scope") << "2\n";
  std::ofstream(folder / ".dockerenv") << "";
  const Limits limits = read_limits({}, folder / "");
  EXPECT_EQ(limits.ptrace_scope, 2);
  EXPECT_TRUE(limits.may_trace);
  EXPECT_EQ(limits.container, "docker");
  EXPECT_FALSE(limits.shm_bytes);
  std::ofstream(folder / "proc/self/status") << "CapEff:\t00000000a80425fb\n";
  EXPECT_FALSE(read_limits({}, folder / "").may_trace);
}

TEST(DoctorFacts, Allocations) {
  const Allocation slurm = read_allocation({{"SLURM_JOB_ID", "42"},
                                            {"SLURM_JOB_NUM_NODES", "2"},
                                            {"SLURM_NTASKS", "8"},
                                            {"SLURM_CPUS_PER_TASK", "4"}});
  EXPECT_EQ(slurm.manager, "Slurm");
  EXPECT_EQ(slurm.nodes, 2);
  EXPECT_EQ(slurm.cores_per_task, 4);
  const TemporaryFolder folder;
  std::ofstream(folder / "nodes") << "a\na\nb\n";
  const Allocation pbs =
      read_allocation({{"PBS_JOBID", "17.host"}, {"PBS_NODEFILE", folder / "nodes"}});
  EXPECT_EQ(pbs.manager, "PBS");
  EXPECT_EQ(pbs.nodes, 2);
  EXPECT_EQ(pbs.tasks, 3);
  EXPECT_EQ(read_allocation({{"HOME", "/root"}}).manager, "");
}

TEST(DoctorFacts, AdaptersAndTheirCores) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "sys/class/infiniband/mlx5_0/device");
  std::ofstream(folder / "sys/class/infiniband/mlx5_0/device/local_cpulist") << "0-15\n";
  const std::vector<Adapter> adapters = read_adapters(folder / "");
  ASSERT_EQ(adapters.size(), 1U);
  EXPECT_EQ(adapters[0].name, "mlx5_0");
  EXPECT_EQ(adapters[0].near_cores, "0-15");
}

TEST(DoctorFacts, SettingsThatMatter) {
  EXPECT_THAT(settings_among({{"UCX_TLS", "all"}, {"HOME", "/root"}, {"LD_PRELOAD", "x.so"}}),
              ElementsAre(testing::Pair("LD_PRELOAD", "x.so"), testing::Pair("UCX_TLS", "all")));
}

TEST(DoctorFacts, ALauncherIsTakenByItsWord) {
  const TemporaryFolder folder;
  const std::string mpich = folder.put_script("mpiexec.hydra", "exit 0\n");
  const Launching launching =
      read_launching(mpich + " -n {ranks} numactl", "", MpiFamily::open_mpi, {});
  ASSERT_TRUE(launching.launcher);
  EXPECT_EQ(launching.objection, "belongs to MPICH");
  EXPECT_EQ(launching.chosen_by, "--launcher");
  EXPECT_THAT(command(*launching.launcher, {.ranks = 3, .program = "p", .arguments = {"a"}}),
              ElementsAre(mpich, "-n", "3", "numactl", "p", "a"));
  EXPECT_THAT(read_launching("no-such-program", "", MpiFamily::open_mpi, {}).problem,
              HasSubstr("no-such-program"));
  EXPECT_EQ(read_launching({}, "", MpiFamily::open_mpi, {{launcher_variable, mpich}}).chosen_by,
            launcher_variable);
}

}  // namespace
}  // namespace halocline::test
