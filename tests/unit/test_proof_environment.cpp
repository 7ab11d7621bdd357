// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proof/environment_key.hpp"
#include "proof/fixes.hpp"
#include "proof/surroundings.hpp"
#include "support/caught.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

using proof::Environment;
using proof::environment_key;
using proof::GpuPair;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const Environment plain_environment{.variables = {{"HOME", "/home/ada"}, {"UCX_TLS", "any"}},
                                    .mpi = "Open MPI 4.1.6",
                                    .mpi_library = "/opt/mpi/lib/libmpi.so.40",
                                    .libraries = {"/opt/mpi/lib/libmpi.so.40 (1000 bytes)"},
                                    .driver = "580.65.06",
                                    .gpus = {"NVIDIA H200"}};

Environment with(const Variables& more) {
  Environment environment = plain_environment;
  for (const auto& [name, value] : more) environment.variables[name] = value;
  return environment;
}

std::string hash(const Environment& environment) { return environment_key(environment).hash; }

TEST(EnvironmentKey, NamesWhatItIsMadeOf) {
  EXPECT_THAT(
      environment_key(plain_environment).ingredients,
      ElementsAre("GPU: NVIDIA H200", "MPI: Open MPI 4.1.6", "UCX_TLS=any", "driver: 580.65.06",
                  "library: /opt/mpi/lib/libmpi.so.40 (1000 bytes)", "probe: 2"));
}

TEST(EnvironmentKey, IsTheSameEveryTime) {
  EXPECT_EQ(hash(plain_environment), hash(plain_environment));
  // A hash of this kind and these lines, worked out apart from this code: files outlive builds.
  EXPECT_EQ(hash(plain_environment), "666f012d5f2188a3");
}

TEST(EnvironmentKey, ChangesWithVariablesThatMatter) {
  for (const char* name :
       {"UCX_MEMTYPE_CACHE", "OMPI_MCA_pml", "OMPI_MCA_opal_common_ucx_tls", "MPIR_CVAR_ENABLE_GPU",
        "MPICH_GPU_SUPPORT_ENABLED", "MV2_USE_CUDA", "FI_PROVIDER", "I_MPI_OFFLOAD",
        "NCCL_P2P_DISABLE", "CUDA_LAUNCH_BLOCKING", "LD_LIBRARY_PATH", "LD_PRELOAD"}) {
    EXPECT_NE(hash(with({{name, "/x"}})), hash(plain_environment)) << name;
    EXPECT_NE(hash(with({{name, "/x"}})), hash(with({{name, "/y"}}))) << name;
  }
  EXPECT_NE(hash(with({{"UCX_TLS", "all"}})), hash(plain_environment));
}

TEST(EnvironmentKey, ChangesWithTheMachine) {
  Environment other = plain_environment;
  other.mpi = "Open MPI 5.0.11";
  EXPECT_NE(hash(other), hash(plain_environment));
  other = plain_environment;
  other.driver = "590.1";
  EXPECT_NE(hash(other), hash(plain_environment));
  other = plain_environment;
  other.gpus = {"NVIDIA L4"};
  EXPECT_NE(hash(other), hash(plain_environment));
  other = plain_environment;
  other.libraries[0] = "/opt/mpi/lib/libmpi.so.40 (1001 bytes)";
  EXPECT_NE(hash(other), hash(plain_environment));
}

TEST(EnvironmentKey, DoesNotTakeOneLineForTwo) {
  EXPECT_NE(hash(with({{"UCX_A", "1"}, {"UCX_B", "2"}})), hash(with({{"UCX_A", "1UCX_B=2"}})));
  EXPECT_NE(hash(with({{"UCX_A", "1\nUCX_B=2"}})), hash(with({{"UCX_A", "1"}, {"UCX_B", "2"}})));
}

TEST(EnvironmentKey, DoesNotChangeWithOtherVariables) {
  for (const char* name : {"PATH", "PWD", "OMP_NUM_THREADS", "OMP_PROC_BIND",
                           "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_HOME", "SLURM_JOB_ID",
                           "HALOCLINE_LAUNCHED", "PMIX_MCA_psec", "UCXX_NOT_OURS", "LD_BIND_NOW"})
    EXPECT_EQ(hash(with({{name, "/x"}})), hash(plain_environment)) << name;
}

TEST(EnvironmentKey, DoesNotChangeWithRepeatedAndStandardFolders) {
  const std::string mine = hash(with({{"LD_LIBRARY_PATH", "/opt/ucx/lib:/opt/x"}}));
  // What mpirun makes of it when it is called by its path, twice nested.
  for (const char* same : {"/opt/mpi/lib:/opt/mpi/lib:/opt/ucx/lib:/opt/x",
                           "/usr/lib:/opt/ucx/lib/:/opt/x:/opt/ucx/lib",
                           ":/opt/ucx/lib::/opt/x:", "/opt/mpi/bin/../lib:/opt/ucx/lib:/opt/x"})
    EXPECT_EQ(hash(with({{"LD_LIBRARY_PATH", same}})), mine) << same;
  EXPECT_NE(hash(with({{"LD_LIBRARY_PATH", "/opt/x:/opt/ucx/lib"}})), mine) << "the order counts";
  EXPECT_EQ(hash(with({{"LD_LIBRARY_PATH", "/usr/lib:/opt/mpi/lib"}})), hash(plain_environment));
}

/// Those that a text lists as `env` does.
Variables variables_in(const std::string& text) {
  Variables variables;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t end = word.find('=');
    variables[word.substr(0, end)] = word.substr(end + 1);
  }
  return variables;
}

// Read from `env` inside ranks: what the launcher added.
const Variables set_by_open_mpi_4 = variables_in(R"(
OMPI_APP_CTX_NUM_PROCS=2 OMPI_COMMAND=env OMPI_COMM_WORLD_LOCAL_RANK=0
OMPI_COMM_WORLD_LOCAL_SIZE=2 OMPI_COMM_WORLD_NODE_RANK=0 OMPI_COMM_WORLD_RANK=0
OMPI_COMM_WORLD_SIZE=2 OMPI_FILE_LOCATION=/tmp/ompi.vm.0/pid.15328/0/0 OMPI_FIRST_RANKS=0
OMPI_MCA_ess=^singleton OMPI_MCA_ess_base_jobid=1461583873 OMPI_MCA_ess_base_vpid=0
OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_hwloc_base_report_bindings=1
OMPI_MCA_initial_wdir=/home/me OMPI_MCA_mpi_oversubscribe=0 OMPI_MCA_orte_app_num=0
OMPI_MCA_orte_bound_at_launch=1 OMPI_MCA_orte_ess_node_rank=0 OMPI_MCA_orte_ess_num_procs=2
OMPI_MCA_orte_execute_quiet=1 OMPI_MCA_orte_hnp_uri=1461583872.0;tcp://192.0.2.2:57457
OMPI_MCA_orte_jobfam_session_dir=/tmp/ompi.vm.0/pid.15328 OMPI_MCA_orte_launch=1
OMPI_MCA_orte_local_daemon_uri=1461583872.0;tcp://192.0.2.2:57457 OMPI_MCA_orte_num_nodes=1
OMPI_MCA_orte_output_filename=/tmp/ofn
OMPI_MCA_orte_precondition_transports=34ad5171355d81c1-2740b50bacba31da OMPI_MCA_orte_tag_output=1
OMPI_MCA_orte_top_session_dir=/tmp/ompi.vm.0 OMPI_MCA_pmix=^s1,s2,cray,isolated
OMPI_MCA_rmaps_base_mapping_policy=slot:OVERSUBSCRIBE OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_MCA_routed=radix OMPI_MCA_shmem_RUNTIME_QUERY_hint=mmap OMPI_NUM_APP_CTX=1
OMPI_UNIVERSE_SIZE=2 PMIX_BFROP_BUFFER_TYPE=PMIX_BFROP_BUFFER_NON_DESC
PMIX_DSTORE_21_BASE_PATH=/tmp/ompi.vm.0/pid.15328/pmix_dstor_ds21_15328
PMIX_DSTORE_ESH_BASE_PATH=/tmp/ompi.vm.0/pid.15328/pmix_dstor_ds12_15328
PMIX_GDS_MODULE=ds21,ds12,hash PMIX_HOSTNAME=vm PMIX_ID=1461583873.0
PMIX_MCA_mca_base_component_show_load_errors=1 PMIX_NAMESPACE=1461583873 PMIX_RANK=0
PMIX_SECURITY_MODE=native PMIX_SERVER_TMPDIR=/tmp/ompi.vm.0/pid.15328
PMIX_SERVER_URI2=1461583872.0;tcp4://127.0.0.1:43983
PMIX_SERVER_URI41=1461583872.0;tcp4://127.0.0.1:43983 PMIX_SYSTEM_TMPDIR=/tmp
PMIX_VERSION=4.2.2rc2)");
const Variables set_by_open_mpi_5 = variables_in(R"(
OMPI_ARGV= OMPI_LIBDIR_LOC=/opt/v/lib OMPI_MCA_PREFIXES=mca,opal,ompi OMPI_MCA_cpu_type=x86_64
OMPI_MCA_initial_wdir=/tmp OMPI_MCA_num_procs=2 OMPI_TOOL_NAME=mpirun OMPI_VERSION=5.0.11
OMPI_WORLD_LOCAL_SIZE=2 OMPI_WORLD_SIZE=2 OPAL_USER_PARAMS_GIVEN=1 PMIX_GDS_MODULE=shmem2,hash
PMIX_PARAM_FILE_PASSED=1 PMIX_SERVER_URI41=prterun-vm-1@0.0;tcp4://127.0.0.1:52575 PRTE_LAUNCHED=1
PRTE_SHARED_FS=FALSE)");
const Variables set_by_hydra = variables_in(R"(
HYDI_CONTROL_FD=7 MPIR_CVAR_CH3_INTERFACE_HOSTNAME=vm MPI_LOCALNRANKS=2 MPI_LOCALRANKID=0 PMI_FD=6
PMI_RANK=0 PMI_SIZE=2)");
// What a user sets, or says with --mca and -x, and what a job cannot do without.
const Variables of_the_user = variables_in(R"(
PATH=/usr/bin HOME=/home/ada LD_LIBRARY_PATH=/opt/ucx/lib CUDA_VISIBLE_DEVICES=0,1
UCX_TLS=^cuda_ipc UCX_MEMTYPE_CACHE=n OMPI_MCA_pml=ucx OMPI_MCA_btl=tcp,self
OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any OMPI_MCA_plm_rsh_agent=ssh
OMPI_MCA_orte_tmpdir_base=/scratch OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OPAL_PREFIX=/opt/v PMIX_PREFIX=/opt/v PMIX_MCA_gds=hash MPIR_CVAR_ENABLE_GPU=1
MPICH_GPU_SUPPORT_ENABLED=1 I_MPI_OFFLOAD=1 HALOCLINE_LAUNCHER=mpirun SLURM_JOB_ID=17)");

TEST(LauncherInternals, AreTakenOutAndTheUsersSettingsStay) {
  for (const Variables* internals : {&set_by_open_mpi_4, &set_by_open_mpi_5, &set_by_hydra}) {
    Variables all = of_the_user;
    all.insert(internals->begin(), internals->end());
    EXPECT_EQ(proof::launcher_internals(all).size(), internals->size());
    for (const std::string& name : proof::launcher_internals(all)) all.erase(name);
    EXPECT_EQ(all, of_the_user);
  }
}

TEST(LauncherInternals, DoNotChangeTheKey) {
  const std::string outside = hash(with(of_the_user));
  for (const Variables* internals : {&set_by_open_mpi_4, &set_by_open_mpi_5, &set_by_hydra}) {
    Variables all = of_the_user;
    all.insert(internals->begin(), internals->end());
    EXPECT_EQ(hash(with(all)), outside);
  }
}

// ------------------------------------------------------------------------------- surroundings

TEST(CountGpus, AreCountedByTheirDeviceFiles) {
  const TemporaryFolder root;
  EXPECT_EQ(proof::count_gpus({}, root.path()), 0);
  root.put("proc/driver/nvidia/gpus/0000:1b:00.0/information", "");
  EXPECT_EQ(proof::count_gpus({}, root.path()), 1) << "no device files, but the driver knows one";
  for (const char* file : {"dev/nvidia0", "dev/nvidia1", "dev/nvidia10", "dev/nvidiactl",
                           "dev/nvidia-uvm", "dev/nvidia-caps/nvidia-cap1"})
    root.put(file, "");
  EXPECT_EQ(proof::count_gpus({}, root.path()), 3);
}

TEST(CountGpus, AreNotThoseHidden) {
  const TemporaryFolder root;
  for (const char* file : {"dev/nvidia0", "dev/nvidia1"}) root.put(file, "");
  const auto shown = [&](const char* list) {
    return proof::count_gpus({{"CUDA_VISIBLE_DEVICES", list}}, root.path());
  };
  EXPECT_EQ(shown("1"), 1);
  EXPECT_EQ(shown("0,1"), 2);
  EXPECT_EQ(shown("0,1,2,3"), 2) << "there are no more";
  EXPECT_EQ(shown(""), 0);
  EXPECT_EQ(shown("-1"), 0);
  EXPECT_EQ(proof::count_gpus({{proof::assume_gpu_variable, "4"}}, root.path()), 4);
  EXPECT_EQ(proof::count_gpus({{proof::assume_gpu_variable, "0"}}, root.path()), 0);
  for (const char* value : {"yes", "-1", "1.5", "4294967297"})
    EXPECT_EQ(test::caught([&] {
                proof::count_gpus({{proof::assume_gpu_variable, value}}, root.path());
              }).kind,
              ErrorKind::usage)
        << value;
}

TEST(PairsBetween, RanksOfOneNode) {
  EXPECT_THAT(proof::pairs_between(1, 4), IsEmpty());
  EXPECT_THAT(proof::pairs_between(4, 0), IsEmpty());
  EXPECT_THAT(proof::pairs_between(2, 1), ElementsAre(GpuPair::same_gpu));
  EXPECT_THAT(proof::pairs_between(4, 4), ElementsAre(GpuPair::same_node));
  EXPECT_THAT(proof::pairs_between(5, 4), ElementsAre(GpuPair::same_node, GpuPair::same_gpu));
}

TEST(ThisEnvironment, TellsDriverAndGpus) {
  const TemporaryFolder root;
  root.put("proc/driver/nvidia/version",
           "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:08:34 UTC\n"
           "GCC version:  gcc version 13.3.0\n");
  for (const char* gpu : {"0000:1b:00.0", "0000:2b:00.0"})
    root.put(std::string("proc/driver/nvidia/gpus/") + gpu + "/information",
             "Model: \t\t NVIDIA H200\nIRQ:   \t\t 16\n");
  const Environment there = proof::this_environment({}, root.path());
  EXPECT_EQ(there.driver, "580.65.06");
  EXPECT_THAT(there.gpus, ElementsAre("NVIDIA H200"));
  root.put("sys/module/nvidia/version", "580.99\n");
  EXPECT_EQ(proof::this_environment({}, root.path()).driver, "580.99");
  EXPECT_EQ(proof::this_environment({}, root / "nowhere").driver, "unknown");
}

TEST(ThisEnvironment, TellsMpiAndItsUcx) {
  const TemporaryFolder root;
  const Environment there = proof::this_environment({}, root.path());
  EXPECT_THAT(there.mpi, testing::AnyOf(HasSubstr("MPI"), HasSubstr("MPICH")));
  EXPECT_THAT(there.mpi_library, HasSubstr("/libmpi"));
  EXPECT_THAT(there.libraries, Contains(AllOf(HasSubstr("/libmpi"), HasSubstr(" bytes)"))));

  root.put("ucx/libucp.so.0", "1234567");
  const Variables in_front{{"LD_LIBRARY_PATH", "/no/such/folder:" + root / "ucx"}};
  EXPECT_THAT(proof::this_environment(in_front, root.path()).libraries,
              AllOf(Contains(HasSubstr("/ucx/libucp.so.0 (7 bytes)")),
                    Contains(HasSubstr("no libuct_cuda in " + root / "ucx/ucx"))));
  root.put("ucx/ucx/libuct_cuda.so.0", "12");
  EXPECT_THAT(proof::this_environment(in_front, root.path()).libraries,
              AllOf(Contains(HasSubstr("libuct_cuda.so.0 (2 bytes)")),
                    Not(Contains(HasSubstr("no libuct_cuda")))));
}

TEST(ThisEnvironment, TellsWhetherLibfabricKnowsCuda) {
  const TemporaryFolder root;
  const Variables in_front{{"LD_LIBRARY_PATH", root / "fabric"}};
  const auto there = [&] { return proof::this_environment(in_front, root.path()).libraries; };
  // As one built without it has it: a word for each kind of memory.
  root.put("fabric/libfabric.so.1", std::string("ELF\0FI_HMEM_CUDA\0cuda", 21));
  EXPECT_THAT(there(), AllOf(Contains(HasSubstr("/fabric/libfabric.so.1 (21 bytes)")),
                             Contains("no CUDA in " + root / "fabric/libfabric.so.1")));
  root.put("fabric/libfabric.so.1", std::string("ELF\0libcudart.so.12.4", 21));
  EXPECT_THAT(there(), AllOf(Contains(HasSubstr("/fabric/libfabric.so.1 (21 bytes)")),
                             Not(Contains(HasSubstr("no CUDA in ")))));
}

// ------------------------------------------------------------------------------------- fix

constexpr int crash = 11, hang = 0;  // the signal that ended a rank

TEST(ThisEnvironment, KnowsWhatIsInFilesOfSettings) {
  const TemporaryFolder root;
  const Variables variables{{"HOME", root.path()}};
  const auto key = [&] {
    return proof::environment_key(proof::this_environment(variables, root.path())).hash;
  };
  const std::string without = key();
  root.put(".openmpi/mca-params.conf", "btl = self,tcp\n");
  const std::string with = key();
  EXPECT_NE(with, without);
  EXPECT_EQ(with, key());
  root.put(".openmpi/mca-params.conf", "btl = self,xyz\n");
  EXPECT_NE(key(), with) << "as long as before, and not the same";
}

TEST(Fix, IsUcxWithCudaForOpenMpi) {
  EXPECT_THAT(proof::fix("Open MPI 4.1.6", {}, crash),
              AllOf(HasSubstr("mpirun --mca pml ucx --mca opal_common_ucx_tls any --mca "
                              "opal_common_ucx_devices any"),
                    HasSubstr("UCX that was built with CUDA"), HasSubstr("UCX_MEMTYPE_CACHE=n"),
                    HasSubstr("staged")));
  EXPECT_THAT(proof::fix("Open MPI 4.1.6", {{"OMPI_MCA_pml", "ucx"}}, crash),
              HasSubstr("opal_common_ucx_tls any"));
}

TEST(Fix, GoesOnFromWhatIsSetAlready) {
  Variables variables{{"OMPI_MCA_pml", "ucx"},
                      {"OMPI_MCA_opal_common_ucx_tls", "any"},
                      {"OMPI_MCA_opal_common_ucx_devices", "any"}};
  EXPECT_THAT(proof::fix("Open MPI 5.0.11", variables, crash),
              StartsWith("set UCX_MEMTYPE_CACHE=n"));
  EXPECT_THAT(proof::fix("Open MPI 5.0.11", variables, hang), HasSubstr("UCX_TLS=^cuda_ipc"));
  variables["UCX_MEMTYPE_CACHE"] = "n";
  EXPECT_THAT(proof::fix("Open MPI 5.0.11", variables, crash),
              AllOf(HasSubstr("built without CUDA"), HasSubstr("UCX_MODULE_DIR"),
                    Not(HasSubstr("UCX_MEMTYPE_CACHE"))));
}

TEST(Fix, IsTheSwitchOfEachMpi) {
  EXPECT_THAT(proof::fix("MPI VERSION : CRAY MPICH version 8.1.27", {}, crash),
              StartsWith("set MPICH_GPU_SUPPORT_ENABLED=1"));
  EXPECT_THAT(proof::fix("MPI VERSION : CRAY MPICH version 8.1.27",
                         {{"MPICH_GPU_SUPPORT_ENABLED", "1"}}, crash),
              AllOf(HasSubstr("libmpi_gtl_cuda"), Not(HasSubstr("set MPICH"))));
  EXPECT_THAT(proof::fix("MPICH 4.0.2", {}, crash),
              AllOf(StartsWith("set MPIR_CVAR_ENABLE_GPU=1"), HasSubstr("--with-cuda")));
  EXPECT_THAT(
      proof::fix("MPICH 4.0.2", {{"MPIR_CVAR_ENABLE_GPU", "1"}}, crash),
      AllOf(HasSubstr("seems not to be built with --with-cuda"), Not(HasSubstr("set MPIR"))));
  EXPECT_THAT(proof::fix("MVAPICH2 2.3.7", {}, crash), StartsWith("set MV2_USE_CUDA=1"));
  EXPECT_THAT(proof::fix("Intel(R) MPI Library 2021.11", {}, crash),
              StartsWith("set I_MPI_OFFLOAD=1"));
  EXPECT_THAT(proof::fix("Some MPI 1.0", {}, crash), HasSubstr("Some MPI 1.0"));
}

TEST(Fix, AlwaysNamesTheWayThatNeedsNone) {
  for (const char* library : {"Open MPI 4.1.6", "MPICH 4.0.2", "Cray MPICH", "MVAPICH", "Other"})
    EXPECT_THAT(proof::fix(library, {}, hang), HasSubstr("; or use transport staged"));
}

TEST(SettingsToTry, GoStepByStepWithOpenMpi) {
  using proof::settings_to_try;
  using proof::UcxHere;
  const std::string mpi = "Open MPI 4.1.6";
  EXPECT_THAT(settings_to_try(mpi, {}, crash, UcxHere::none), IsEmpty());
  EXPECT_THAT(settings_to_try(mpi, {}, crash, UcxHere::without_cuda), IsEmpty());
  Variables variables = settings_to_try(mpi, {}, crash, UcxHere::with_cuda);
  EXPECT_EQ(variables, (Variables{{"OMPI_MCA_opal_common_ucx_devices", "any"},
                                  {"OMPI_MCA_opal_common_ucx_tls", "any"},
                                  {"OMPI_MCA_pml", "ucx"}}));
  variables["UCX_TLS"] = "sm,self";
  EXPECT_EQ(settings_to_try(mpi, variables, crash, UcxHere::with_cuda),
            (Variables{{"UCX_TLS", "sm,self,cuda_copy,cuda_ipc"}}));
  variables["UCX_TLS"] = "^cuda_ipc";
  EXPECT_EQ(settings_to_try(mpi, variables, crash, UcxHere::with_cuda),
            (Variables{{"UCX_MEMTYPE_CACHE", "n"}}));
  EXPECT_THAT(settings_to_try(mpi, variables, hang, UcxHere::with_cuda), IsEmpty());
  variables["UCX_MEMTYPE_CACHE"] = "no";
  EXPECT_THAT(settings_to_try(mpi, variables, crash, UcxHere::with_cuda), IsEmpty());
}

TEST(SettingsToTry, AreSwitchesElsewhere) {
  using proof::settings_to_try;
  const auto none = proof::UcxHere::none;
  EXPECT_EQ(settings_to_try("MPICH 4.0.2", {}, 0, none),
            (Variables{{"MPIR_CVAR_ENABLE_GPU", "1"}}));
  EXPECT_THAT(settings_to_try("MPICH 4.0.2", {{"MPIR_CVAR_ENABLE_GPU", "1"}}, 0, none), IsEmpty());
  EXPECT_EQ(settings_to_try("MPI VERSION : CRAY MPICH version 8.1.27", {}, 0, none),
            (Variables{{"MPICH_GPU_SUPPORT_ENABLED", "1"}}));
  EXPECT_THAT(settings_to_try("Some MPI 1.0", {}, 0, none), IsEmpty());
}

TEST(SettingsToTry, GiveUcxItsMemoryBack) {
  EXPECT_EQ(proof::faster_settings_to_try({{"UCX_MEMTYPE_CACHE", "n"}}),
            (Variables{{"UCX_MEMTYPE_CACHE", "y"}}));
  EXPECT_THAT(proof::faster_settings_to_try({{"UCX_MEMTYPE_CACHE", "y"}}), IsEmpty());
  EXPECT_THAT(proof::faster_settings_to_try({}), IsEmpty());
}

}  // namespace
}  // namespace halocline::test
