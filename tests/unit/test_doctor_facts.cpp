// SPDX-License-Identifier: Apache-2.0
// What doctor reads of a node, from folders laid out like its own.

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/libraries/package_folders.hpp"
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

TEST(DoctorFacts, RoomForTemporaryFiles) {
  const TemporaryFolder folder;
  Limits limits = read_limits({{"TMP", "/nowhere"}, {"TMPDIR", folder / ""}}, folder / "");
  EXPECT_EQ(limits.temporary, folder / "");
  EXPECT_GT(limits.temporary_free_bytes.value_or(0), 0);
  limits = read_limits({{"TMPDIR", folder / "missing"}}, folder / "");
  EXPECT_FALSE(limits.temporary_free_bytes);
  EXPECT_EQ(read_limits({}, folder / "").temporary, "/tmp");
}

TEST(DoctorFacts, ParametersOfMpiInFiles) {
  const TemporaryFolder folder;
  folder.put("home/.openmpi/mca-params.conf", "# mine\n btl = self # only\n\nnonsense\n");
  folder.put("system/etc/openmpi/openmpi-mca-params.conf", "# nothing\n");
  folder.put("opt/etc/openmpi-mca-params.conf", "pml=ucx\n");
  const std::vector<ParameterFile> files = read_parameter_files(
      {{"HOME", folder / "home"}}, folder / "opt/bin/mpirun", folder / "system");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, folder / "home/.openmpi/mca-params.conf");
  EXPECT_EQ(files[0].settings, (Variables{{"btl", "self"}}));
  EXPECT_EQ(files[1].settings, (Variables{{"pml", "ucx"}}));
  EXPECT_EQ(files_without(files, {files[0]}), files[1].path);
  EXPECT_EQ(files_without(files, {}), files[0].path + ":" + files[1].path);
  EXPECT_EQ(files_without(files, files), "/dev/null");
}

TEST(DoctorFacts, SettingsThatMayKeepRanksFromStarting) {
  const Variables settings{{"HYDRA_IFACE", "eth7"},  {"LD_LIBRARY_PATH", "/opt/lib"},
                           {"MPIEXEC_TIMEOUT", "1"}, {"OPAL_PREFIX", "/opt/openmpi"},
                           {"PMIX_MCA_gds", "hash"}, {"TMPDIR", "/scratch"}};
  Variables all = settings;
  all.insert({{"HOME", "/home/me"}, {"OMP_NUM_THREADS", "4"}, {"PATH", "/bin"}});
  EXPECT_EQ(settings_of_mpi(all), settings);
}

TEST(DoctorFacts, AnotherLauncherFirstInPath) {
  const TemporaryFolder folder;
  const auto put_launcher = [&](const char* name, const char* version) {
    folder.put(name, fmt::format("#!/bin/sh\necho '{}'\n", version));
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
  };
  put_launcher("real/mpiexec", "mpiexec (OpenRTE) 4.1.4");
  put_launcher("fake/mpiexec", "what?");
  const auto launching = [&](const std::string& path) {
    return read_launching(std::nullopt, folder / "real/mpiexec", MpiFamily::open_mpi,
                          {{"PATH", folder / path}});
  };
  EXPECT_FALSE(launching("real").first_in_path);
  EXPECT_EQ(launching("nothing").first_in_path, "");
  const Launching other = launching("fake");
  EXPECT_EQ(other.launcher->path, folder / "real/mpiexec");
  EXPECT_EQ(other.first_in_path, folder / "fake/mpiexec");
  EXPECT_EQ(other.objection_to_first, "does not name its MPI in --version");
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

TEST(DoctorFacts, AdaptersNearGpus) {
  const TemporaryFolder folder;
  const std::string below = "sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/";
  folder.put(below + "0000:17:01.0/0000:18:00.0/numa_node", "0\n");
  folder.put(below + "0000:17:02.0/0000:19:00.0/numa_node", "0\n");
  std::filesystem::create_directories(folder / "sys/bus/pci/devices");
  std::filesystem::create_directories(folder / "sys/class/infiniband/mlx5_0");
  std::filesystem::create_directory_symlink(folder / (below + "0000:17:01.0/0000:18:00.0"),
                                            folder / "sys/bus/pci/devices/0000:18:00.0");
  std::filesystem::create_directory_symlink(folder / (below + "0000:17:02.0/0000:19:00.0"),
                                            folder / "sys/class/infiniband/mlx5_0/device");
  folder.put("sys/class/infiniband/virtual0/x", "");
  device::Gpu known, unknown;
  known.ordinal = 3;
  known.pci = "0000:18:00.0";
  unknown.pci = "0000:99:00.0";
  const std::vector<NearAdapter> near =
      near_adapters({known, unknown}, read_adapters(folder.path()), folder.path());
  ASSERT_EQ(near.size(), 1U);
  EXPECT_EQ(near[0].gpu, 3);
  EXPECT_EQ(near[0].adapter, "mlx5_0");
  EXPECT_EQ(near[0].nearness, doctor::Nearness::pix);
}

TEST(DoctorFacts, PackagesOfPython) {
  const TemporaryFolder folder;
  const Variables variables{{"PATH", folder / "base/bin"},
                            {"HOME", folder / "home"},
                            {"VIRTUAL_ENV", folder / "venv"},
                            {"PYTHONPATH", folder / "mine:/no/such/folder"}};
  folder.put_script("base/bin/python3", "echo it must not be started; exit 1\n");
  folder.put("mine/x.py", "");
  folder.put("usr/lib/python3/dist-packages/x.py", "");
  folder.put("usr/lib/python-old/site-packages/x.py", "");
  folder.put("home/.local/lib/python3.12/site-packages/x.py", "");
  folder.put("base/lib/python3.11/site-packages/x.py", "");
  folder.put("venv/lib64/python3.12/site-packages/x.py", "");
  EXPECT_THAT(python_packages(variables, folder.path()),
              ElementsAre(folder / "mine", folder / "venv/lib64/python3.12/site-packages",
                          folder / "home/.local/lib/python3.12/site-packages",
                          folder / "base/lib/python3.11/site-packages",
                          folder / "usr/lib/python3/dist-packages"));
}

TEST(DoctorFacts, LibrariesInPackages) {
  const TemporaryFolder folder;
  constexpr PackagedFile nccl{"libnccl.so.2", "nvidia/nccl/lib", "nccl/lib"};
  Variables variables{{"PATH", ""}};
  EXPECT_EQ(path_in_packages(nccl, variables, folder.path()), "");
  const std::string of_sdk =
      folder.put("opt/nvidia/hpc_sdk/Linux_x86_64/26.1/comm_libs/nccl/lib/libnccl.so.2", "");
  EXPECT_EQ(path_in_packages(nccl, variables, folder.path()), of_sdk);
  variables["NVHPC_ROOT"] = folder / "sdk";
  const std::string of_chosen_sdk = folder.put("sdk/comm_libs/nccl/lib/libnccl.so.2", "");
  EXPECT_EQ(path_in_packages(nccl, variables, folder.path()), of_chosen_sdk);
  variables["CONDA_PREFIX"] = folder / "conda";
  const std::string of_conda = folder.put("conda/lib/libnccl.so.2", "");
  EXPECT_EQ(path_in_packages(nccl, variables, folder.path()), of_conda);
  const std::string of_wheel =
      folder.put("usr/local/lib/python3.12/dist-packages/nvidia/nccl/lib/libnccl.so.2", "");
  EXPECT_EQ(path_in_packages(nccl, variables, folder.path()), of_wheel);
  EXPECT_EQ(path_in_packages({"libnvshmem_host.so.3", "nvidia/nvshmem/lib", ""}, variables,
                             folder.path()),
            "");
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
