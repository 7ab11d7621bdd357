// What doctor makes of facts and of what became of paths; all of them made up.

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>

#include "doctor/advice.hpp"
#include "doctor/changes.hpp"
#include "doctor/findings.hpp"
#include "doctor/node_facts.hpp"
#include "doctor/report.hpp"
#include "doctor/said.hpp"
#include "report/render.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

using namespace doctor;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const Variables with_cache_off{{"UCX_MEMTYPE_CACHE", "n"}};

PathResult works(const char* transport, Memory memory, double us_of_64_kib) {
  PathResult result{.path = {transport, memory}, .outcome = Outcome::works};
  for (const std::int64_t bytes : sizes_to_time())
    result.times.push_back({bytes, 1 + us_of_64_kib * static_cast<double>(bytes) / (64 << 10)});
  return result;
}

PathResult ends(const char* transport, Memory memory, Outcome outcome, const char* how) {
  return {.path = {transport, memory}, .outcome = outcome, .how = how};
}

/// A node with 4 cores where all is well.
Evidence healthy() {
  Evidence evidence;
  NodeFacts& node = evidence.facts.node;
  node.host = "node1";
  node.processor = "AMD EPYC";
  node.usable_cores = node.online_threads = 4;
  node.allowed_cores = "0-3";
  node.mpi = "Open MPI 4.1.6";
  node.limits.shm_bytes = node.limits.shm_free_bytes = std::int64_t{8} << 30;
  evidence.facts.launching.launcher = Launcher{LauncherKind::open_mpi, "/usr/bin/mpirun"};
  for (const int rank : {0, 1})
    evidence.facts.ranks.ranks.push_back({.rank = rank,
                                          .size = 2,
                                          .host = "node1",
                                          .mpi = node.mpi,
                                          .cores = "0-3",
                                          .ipc_namespace = "ipc:[1]",
                                          .process_namespace = "pid:[1]",
                                          .shm_device = "27"});
  evidence.facts.ranks.direct_reads = true;
  evidence.paths = {works("MPI_Send", Memory::host, 0), works("mpi", Memory::host, 10),
                    works("shared", Memory::host, 8)};
  evidence.paths.front().times.clear();
  return evidence;
}

/// The same with two GPUs, and an MPI that takes their memory.
Evidence with_gpus() {
  Evidence evidence = healthy();
  NodeFacts& node = evidence.facts.node;
  node.built_with_cuda = true;
  node.gpu_files = 2;
  RankFacts& ranks = evidence.facts.ranks;
  for (const int rank : {0, 1}) {
    machine::RankFacts facts;
    facts.rank = rank;
    for (const int ordinal : {0, 1}) {
      machine::VisibleGpu& visible = facts.visible.emplace_back();
      visible.gpu.ordinal = ordinal;
      visible.gpu.uuid = "GPU-" + std::to_string(ordinal);
      visible.gpu.name = "NVIDIA H200";
    }
    ranks.machine.push_back(facts);
  }
  ranks.peer_access = {true, true, true, true};
  evidence.gpu_pair = proof::GpuPair::same_node;
  evidence.paths.push_back(works("peer", Memory::device, 1));
  evidence.paths.push_back(works("staged", Memory::device, 10));
  evidence.paths.push_back(works("gpu_aware", Memory::device, 1.5));
  return evidence;
}

PathResult& aware(Evidence& evidence) { return evidence.paths.back(); }

auto finding(Severity severity, const char* what) {
  return AllOf(Field(&Finding::severity, severity), Field(&Finding::what, HasSubstr(what)));
}

auto finding(Severity severity, const char* what, const char* seen, const char* cure) {
  return AllOf(finding(severity, what), Field(&Finding::seen, HasSubstr(seen)),
               Field(&Finding::cure, HasSubstr(cure)));
}

// ----------------------------------------------------------------------------------- findings

TEST(DoctorFindings, AreNoneWhereAllIsWell) {
  for (const Evidence& evidence : {healthy(), with_gpus()}) {
    EXPECT_THAT(findings(evidence), IsEmpty());
    EXPECT_EQ(verdict(evidence, {}, Strictness::strict), Verdict::fine);
  }
}

TEST(DoctorFindings, NoLauncher) {
  Evidence evidence = healthy();
  evidence.facts.launching = {.problem = "looked for mpirun"};
  evidence.facts.ranks = {};
  evidence.paths.clear();
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::broken, "no launcher",
                                                      "looked for mpirun", "openmpi-bin")));
}

TEST(DoctorFindings, TheLauncherOfAnotherFamily) {
  Evidence evidence = healthy();
  evidence.facts.launching.objection = "belongs to MPICH";
  evidence.facts.misstarted = RankFacts{.ranks = {{.size = 1}, {.size = 1}}};
  evidence.facts.launching.instead = Launcher{LauncherKind::open_mpi, "/usr/bin/mpirun.openmpi"};
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::broken, "launcher of another MPI",
                                                      "each of 2 ranks found itself alone",
                                                      "/usr/bin/mpirun.openmpi")));
  EXPECT_EQ(verdict(evidence, findings(evidence), Strictness::lenient), Verdict::ill);
}

TEST(DoctorFindings, RanksAloneUnderSrun) {
  Evidence evidence = healthy();
  evidence.facts.launching.launcher = Launcher{LauncherKind::srun, "/usr/bin/srun"};
  for (RankSeen& rank : evidence.facts.ranks.ranks) rank.size = 1;
  EXPECT_THAT(findings(evidence), Contains(finding(Severity::broken, "do not find each other",
                                                   "one of 1", "--mpi=pmix")));
}

TEST(DoctorFindings, RanksThatDoNotStart) {
  Evidence evidence = healthy();
  evidence.paths.clear();
  evidence.facts.ranks = {.ended_badly = "no end within 20 s"};
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::broken, "do not even start",
                                                      "no end within 20 s", "by hand")));
  evidence.facts.node.limits.shm_bytes = 64 << 10;
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::broken, "do not even start",
                                                      "/dev/shm holds 64.0 KiB", "--shm-size")));
}

TEST(DoctorFindings, AnotherLauncherTakenInstead) {
  Evidence evidence = healthy();
  evidence.facts.misstarted = RankFacts{};
  evidence.facts.misstarted->ended_badly = "no end within 20 s";
  evidence.facts.launching.instead = Launcher{LauncherKind::open_mpi, "/usr/bin/mpirun.openmpi"};
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::broken, "do not even start", "no end within 20 s",
                                  "/usr/bin/mpirun.openmpi was taken")));
  evidence.facts.misstarted->ended_badly.clear();
  evidence.facts.misstarted->ranks = {{.size = 4}};
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::broken, "does not start 2 ranks",
                                                      "started 4", "write {ranks}")));
}

TEST(DoctorFindings, RanksOnOneCore) {
  Evidence evidence = healthy();
  for (RankSeen& rank : evidence.facts.ranks.ranks) rank.cores = "3";
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::slow, "2 ranks share core 3",
                                                      "core 3 only", "--bind-to none")));
  evidence.facts.node.usable_cores = 1;
  evidence.facts.node.allowed_cores = "3";
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::slow, "2 ranks share core 3", "of 4", "taskset")));
}

TEST(DoctorFindings, SharedMemoryThatIsTooSmall) {
  Evidence evidence = healthy();
  evidence.facts.node.limits.shm_bytes = 64 << 10;
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::slow, "/dev/shm is too small",
                                                      "64.0 KiB", "--shm-size")));
  evidence.paths.back() = ends("shared", Memory::host, Outcome::failed, "signal 7 (Bus error)");
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::broken, "transport shared with host memory does not",
                                  "Bus error); /dev/shm holds 64.0 KiB", "--shm-size")));
  evidence = healthy();
  evidence.facts.node.limits.shm_bytes = 20 << 20;
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::note, "/dev/shm is small for 4 ranks")));
}

TEST(DoctorFindings, NamespacesOfTheirOwn) {
  Evidence evidence = healthy();
  RankSeen& rank = evidence.facts.ranks.ranks.back();
  rank.ipc_namespace = "ipc:[2]";
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::slow, "IPC namespaces", "ipc:[2]", "--ipc=host")));
  rank.process_namespace = "pid:[2]";
  EXPECT_THAT(findings(evidence),
              Contains(finding(Severity::slow, "each other's processes", "pid:[2]", "--pid=host")));
  rank.host = "node2";
  EXPECT_THAT(findings(evidence), IsEmpty());
}

TEST(DoctorFindings, NoDirectCopies) {
  Evidence evidence = healthy();
  evidence.facts.ranks.direct_reads = false;
  evidence.facts.ranks.direct_reads_because = "Operation not permitted";
  evidence.facts.node.limits.container = "docker";
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::note, "CMA", "without CAP_SYS_PTRACE", "SYS_PTRACE")));
}

TEST(DoctorFindings, LockedMemoryMattersToInfiniBandOnly) {
  Evidence evidence = healthy();
  evidence.facts.node.limits.memlock_bytes = 64 << 10;
  EXPECT_THAT(findings(evidence), IsEmpty());
  evidence.facts.node.adapters = {{"mlx5_0", "0-3"}};
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::slow, "locked", "mlx5_0", "unlimited")));
}

TEST(DoctorFindings, FailuresAlikeAreToldOnce) {
  Evidence evidence = healthy();
  evidence.paths[0] = ends("MPI_Send", Memory::host, Outcome::failed, "no end within 20 s");
  evidence.paths[1] = ends("mpi", Memory::host, Outcome::failed, "no end within 20 s");
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::broken,
                                  "MPI_Send between two ranks and transport mpi with host memory "
                                  "do not work",
                                  "no end within 20 s", "--mca btl self,tcp")));
  evidence.facts.node.settings["LD_PRELOAD"] = "/opt/spy.so";
  EXPECT_THAT(findings(evidence), ElementsAre(Field(&Finding::cure, HasSubstr("/opt/spy.so"))));
}

TEST(DoctorFindings, WrongBytesComeFirst) {
  Evidence evidence = healthy();
  evidence.facts.ranks.direct_reads = false;
  evidence.paths[1] = ends("mpi", Memory::host, Outcome::wrong, "byte 7 of 8");
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::broken, "delivers wrong bytes"),
                                              finding(Severity::note, "CMA")));
}

TEST(DoctorFindings, AnMpiThatIsNotGpuAware) {
  Evidence evidence = with_gpus();
  aware(evidence) = ends("gpu_aware", Memory::device, Outcome::failed,
                         "rank 0 was ended by signal 11 (Segmentation fault)");
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::absent, "is not GPU-aware",
                                                      "signal 11", "libucx-cu13")));
  EXPECT_EQ(verdict(evidence, findings(evidence), Strictness::lenient), Verdict::fine);
  EXPECT_EQ(verdict(evidence, findings(evidence), Strictness::strict), Verdict::incomplete);
}

TEST(DoctorFindings, AFalseClaim) {
  Evidence evidence = with_gpus();
  evidence.facts.ranks.claims_gpu = true;
  aware(evidence) = ends("gpu_aware", Memory::device, Outcome::failed, "signal 11");
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::broken, "claims to take a GPU's memory, falsely",
                                  "MPIX_Query_cuda_support() says yes; signal 11", "")));
}

TEST(DoctorFindings, ASettingThatCures) {
  Evidence evidence = with_gpus();
  PathResult cured = aware(evidence);
  cured.with = with_cache_off;
  aware(evidence) = ends("gpu_aware", Memory::device, Outcome::failed, "signal 11");
  evidence.paths.push_back(cured);
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::slow, "only with other settings", "signal 11",
                                  "set UCX_MEMTYPE_CACHE=n: tried here, and every byte arrived")));
  EXPECT_EQ(cure_settings(evidence), with_cache_off);
}

TEST(DoctorFindings, ASettingThatDoesNot) {
  Evidence evidence = with_gpus();
  evidence.facts.node.mpi = "MPICH 4.0.2";
  evidence.facts.node.family = MpiFamily::mpich;
  aware(evidence) = ends("gpu_aware", Memory::device, Outcome::failed, "signal 11");
  evidence.paths.push_back(aware(evidence));
  aware(evidence).with = {{"MPIR_CVAR_ENABLE_GPU", "1"}};
  EXPECT_THAT(
      findings(evidence),
      ElementsAre(finding(Severity::absent, "MPICH 4.0.2 is not GPU-aware",
                          "tried again with MPIR_CVAR_ENABLE_GPU=1: the same", "--with-cuda")));
  EXPECT_THAT(cure_settings(evidence), IsEmpty());
}

TEST(DoctorFindings, ASettingThatHoldsBack) {
  Evidence evidence = with_gpus();
  evidence.facts.node.settings = with_cache_off;
  PathResult again = aware(evidence);
  again.with = {{"UCX_MEMTYPE_CACHE", "y"}};
  evidence.paths.push_back(again);
  EXPECT_THAT(findings(evidence), IsEmpty()) << "no faster";
  EXPECT_THAT(cure_settings(evidence), IsEmpty());
  for (Time& time : aware(evidence).times) time.us /= 7;
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::slow, "held back by a setting", "2.50 us as it is",
                                  "set UCX_MEMTYPE_CACHE=y: tried here")));
  EXPECT_EQ(cure_settings(evidence), again.with);
}

TEST(DoctorFindings, CopiesThatAreTurnedOff) {
  Evidence evidence = healthy();
  evidence.facts.node.settings = {{"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}};
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::note, "twice, and need not")));
  evidence.facts.ranks.direct_reads = false;
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::note, "(CMA)")));
}

TEST(DoctorFindings, GpuAwareSlowerThanStaging) {
  Evidence evidence = with_gpus();
  evidence.facts.node.gpu_files = 2;
  for (Time& time : aware(evidence).times)
    if (time.bytes <= 4096) time.us = 30;
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::note, "for messages up to 4.00 KiB",
                                                      "gpu_aware 30.0 us", "staged")));
  for (Time& time : aware(evidence).times)
    if (time.bytes <= 64 << 10) time.us = 30;
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::slow, "for messages up to 64.0 KiB")));
  for (Time& time : aware(evidence).times) time.us = 1e5;
  EXPECT_THAT(findings(evidence),
              AllOf(Contains(finding(Severity::slow, "even for large messages")),
                    Contains(finding(Severity::note, "does not use the direct way"))));
}

TEST(DoctorFindings, ARunThatDoesNotTakeTheFastest) {
  Evidence evidence = with_gpus();
  evidence.paths[3] = works("peer", Memory::device, 20);
  EXPECT_THAT(findings(evidence), Contains(finding(Severity::slow,
                                                   "takes peer, though staged is "
                                                   "faster",
                                                   "64.0 KiB", "--transport staged")));
}

TEST(DoctorFindings, GpusThatCannotBeUsed) {
  Evidence evidence = with_gpus();
  evidence.paths.resize(3);
  evidence.gpu_pair.reset();
  for (machine::RankFacts& rank : evidence.facts.ranks.machine) {
    rank.visible.clear();
    rank.none_because = "there is no NVIDIA driver here";
  }
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::broken, "no GPU can be used", "no NVIDIA driver", "")));
  evidence.facts.node.settings["CUDA_VISIBLE_DEVICES"] = "";
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::note, "no GPU can be used")));
  evidence.facts.node.built_with_cuda = false;
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::absent, "this build does not use GPUs")));
}

TEST(DoctorFindings, GpusThatDoNotReachEachOther) {
  Evidence evidence = with_gpus();
  evidence.facts.ranks.peer_access[1] = false;
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::slow, "not all GPUs", "GPU 0 to GPU 1", "topo")));
  evidence.paths[3] = ends("peer", Memory::device, Outcome::unavailable, "invalid handle");
  EXPECT_THAT(findings(evidence), Contains(finding(Severity::slow, "(transport peer)",
                                                   "invalid handle", "--ipc=host")));
}

TEST(DoctorFindings, RanksThatSeeOneGpuEach) {
  Evidence evidence = with_gpus();
  auto& ranks = evidence.facts.ranks.machine;
  ranks[0].visible.pop_back();
  ranks[1].visible.erase(ranks[1].visible.begin());
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::note, "its own GPU only",
                                                      "rank 1 sees GPU-1", "--gpu-bind=none")));
}

TEST(DoctorFindings, ModesAndParts) {
  Evidence evidence = with_gpus();
  auto& gpus = evidence.facts.ranks.machine.front().visible;
  gpus[0].gpu.mode = device::ComputeMode::prohibited;
  gpus[1].gpu.name = "NVIDIA H200 MIG 1g.18gb";
  EXPECT_THAT(findings(evidence), ElementsAre(finding(Severity::broken, "GPU 0"),
                                              finding(Severity::note, "a part of a GPU")));
}

TEST(DoctorFindings, SettingsOfAnotherMpi) {
  Evidence evidence = healthy();
  evidence.facts.node.settings = {{"MPICH_GPU_SUPPORT_ENABLED", "1"},
                                  {"MPIR_CVAR_ENABLE_GPU", "1"}};
  EXPECT_THAT(findings(evidence),
              ElementsAre(finding(Severity::note, "MPICH_GPU_SUPPORT_ENABLED does nothing"),
                          finding(Severity::note, "MPIR_CVAR_ENABLE_GPU does nothing")));
}

TEST(DoctorFindings, SlowSmallMessages) {
  Evidence evidence = healthy();
  for (Time& time : evidence.paths[1].times) time.us += 200;
  EXPECT_THAT(findings(evidence),
              Contains(finding(Severity::slow, "small messages", "201 us", "TCP")));
}

// ------------------------------------------------------------------------------------- advice

TEST(DoctorAdvice, OpenMpi) {
  Evidence evidence = with_gpus();
  aware(evidence).with = {{"OMPI_MCA_pml", "ucx"}, {"UCX_MEMTYPE_CACHE", "n"}};
  const Start start = recommended_start(evidence, User::ordinary);
  EXPECT_EQ(launch_line(start),
            "mpirun -n 2 --map-by slot:PE=2 --bind-to core --mca pml ucx -x UCX_MEMTYPE_CACHE=n "
            "halocline solve laplace --cells 8192x8192");
  EXPECT_THAT(launch_line(recommended_start(evidence, User::root)),
              HasSubstr("--allow-run-as-root"));
}

TEST(DoctorAdvice, CountsGpusThatRanksHideFromEachOther) {
  Evidence evidence = with_gpus();
  evidence.facts.node.gpu_files = 4;
  auto& ranks = evidence.facts.ranks.machine;
  EXPECT_EQ(recommended_start(evidence, User::ordinary).gpus, 2);
  ranks[0].visible.pop_back();
  ranks[1].visible.erase(ranks[1].visible.begin());
  EXPECT_EQ(recommended_start(evidence, User::ordinary).gpus, 4);
}

TEST(DoctorAdvice, OneRankForEachCoreWithoutGpus) {
  EXPECT_THAT(launch_line(recommended_start(healthy(), User::ordinary)),
              StartsWith("mpirun -n 4 --bind-to core halocline"));
}

TEST(DoctorAdvice, Hydra) {
  Evidence evidence = with_gpus();
  evidence.facts.node.family = MpiFamily::mpich;
  evidence.facts.node.mpi = "MPICH 4.2";
  evidence.facts.launching.launcher = Launcher{LauncherKind::hydra, "/opt/bin/mpiexec.hydra"};
  aware(evidence).with = {{"MPIR_CVAR_ENABLE_GPU", "1"}};
  EXPECT_THAT(launch_line(recommended_start(evidence, User::ordinary)),
              StartsWith("mpiexec.hydra -n 2 -bind-to core:2 -genv MPIR_CVAR_ENABLE_GPU 1 "));
}

TEST(DoctorAdvice, PalsOfACray) {
  Evidence evidence = with_gpus();
  evidence.facts.node.family = MpiFamily::mpich;
  evidence.facts.node.mpi = "MPI VERSION : CRAY MPICH version 8.1.27";
  evidence.facts.node.allocation = {.manager = "PBS", .job = "17"};
  evidence.facts.launching.launcher = Launcher{LauncherKind::hydra, "/opt/cray/pals/1/bin/mpiexec"};
  const Start start = recommended_start(evidence, User::ordinary);
  EXPECT_THAT(launch_line(start),
              StartsWith("mpiexec -n 2 --ppn 2 --depth 2 --cpu-bind depth --env "
                         "MPICH_GPU_SUPPORT_ENABLED=1 halocline"));
  EXPECT_THAT(
      batch_script(start, Batch::pbs),
      AllOf(StartsWith("#!/bin/bash\n"), HasSubstr("#PBS -l select=1:ncpus=4:mpiprocs=2:ngpus=2\n"),
            HasSubstr("\nmpiexec -n 2 --ppn 2")));
}

TEST(DoctorAdvice, Slurm) {
  Evidence evidence = with_gpus();
  evidence.facts.launching.launcher = Launcher{LauncherKind::srun, "/usr/bin/srun"};
  aware(evidence).with = with_cache_off;
  const Start start = recommended_start(evidence, User::ordinary);
  EXPECT_THAT(launch_line(start),
              StartsWith("UCX_MEMTYPE_CACHE=n srun -n 2 --cpus-per-task=2 --cpu-bind=cores "
                         "--gpus-per-node=2 --gpu-bind=none --mpi=pmix halocline"));
  EXPECT_THAT(batch_script(start, Batch::slurm),
              AllOf(HasSubstr("#SBATCH --ntasks-per-node=2\n#SBATCH --cpus-per-task=2\n"
                              "#SBATCH --gpus-per-node=2\n"),
                    HasSubstr("\nexport UCX_MEMTYPE_CACHE=n\n"),
                    HasSubstr("\nsrun --cpu-bind=cores --gpu-bind=none --mpi=pmix halocline"),
                    Not(HasSubstr("gpus-per-task"))));
  EXPECT_FALSE(batch_named("lsf"));
}

TEST(DoctorAdvice, LongCommandsAreOneForAShell) {
  EXPECT_THAT(in_lines("mpirun -n 2 a"), ElementsAre("mpirun -n 2 a"));
  const std::string word(50, 'x');
  EXPECT_THAT(in_lines("mpirun " + word + " " + word), ElementsAre("mpirun " + word + " \\", word));
}

// -------------------------------------------------------------------------------------- facts

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

// --------------------------------------------------------------------------------------- said

TEST(DoctorSaid, FactsAreReadAsTheyAreSaid) {
  const RankSeen rank{.rank = 1,
                      .size = 2,
                      .host = "h",
                      .mpi = "M",
                      .cores = "0-3",
                      .ipc_namespace = "i",
                      .process_namespace = "p",
                      .shm_device = "27"};
  const RankFacts facts = read_rank_facts(
      "Welcome\n" + doing_line("starting MPI") + "\n[1,0]<stdout>:" + line_of(rank) + "\n" +
      line_of(comm::Claims{
          .thread_level = "funneled", .takes_gpu = true, .settings = {{"pml", "ucx"}}}) +
      "\n" + gpus_line("13.0", "13.0", {true, false}) + "\n" +
      direct_reads_line(false, "not permitted") + "\n" +
      line_of(Library{.name = "NCCL", .path = "/x", .version = "2.28.9"}) +
      "\nhalocline-doctor: {\n" + doing_line("loading libucp.so.0") +
      "\nhalocline-doctor: {\"ends\":tr");
  ASSERT_EQ(facts.ranks.size(), 1U);
  EXPECT_EQ(facts.ranks[0].cores, "0-3");
  EXPECT_EQ(facts.ranks[0].shm_device, "27");
  EXPECT_EQ(facts.claims_gpu, true);
  EXPECT_THAT(facts.mpi_settings, ElementsAre(testing::Pair("pml", "ucx")));
  EXPECT_THAT(facts.peer_access, ElementsAre(true, false));
  EXPECT_EQ(facts.direct_reads, false);
  EXPECT_EQ(facts.libraries.at(0).version, "2.28.9");
  EXPECT_EQ(facts.doing, "loading libucp.so.0");
}

TEST(DoctorSaid, PathsTellHowFarTheyCame) {
  const Path mpi{"mpi", Memory::host}, peer{"peer", Memory::device};
  const PathsSaid said =
      read_paths(trying_line(mpi, 8) + "\n" + arrived_line(mpi, {8, 1.5}) + "\n" +
                 outcome_line(mpi, Outcome::works, "") + "\n" + trying_line(peer, 8) + "\n" +
                 arrived_line(peer, {8, 2}) + "\n" + trying_line(peer, 4096) + "\n");
  EXPECT_FALSE(said.ended);
  ASSERT_EQ(said.rows.size(), 2U);
  EXPECT_TRUE(said.rows[0].is_decided);
  EXPECT_EQ(us_for(said.rows[0].result, 8), 1.5);
  EXPECT_FALSE(said.rows[1].is_decided);
  EXPECT_EQ(said.rows[1].bytes, 4096);
  EXPECT_FALSE(path_named("peer"));
  EXPECT_FALSE(path_named("peer:paper"));
}

// ------------------------------------------------------------------------------------- report

std::string json_of(const Evidence& evidence) {
  Diagnosis diagnosis{.evidence = evidence};
  diagnosis.found = findings(evidence);
  diagnosis.start = recommended_start(evidence, User::ordinary);
  return render_json(report_of(diagnosis, {}));
}

std::string text_of(const Evidence& evidence) {
  Diagnosis diagnosis{.evidence = evidence};
  diagnosis.found = findings(evidence);
  diagnosis.start = recommended_start(evidence, User::ordinary);
  return render_text(report_of(diagnosis, {}));
}

TEST(DoctorReport, IsShortWhereAllIsWell) {
  const std::string text = text_of(with_gpus());
  EXPECT_THAT(text, StartsWith("node1: 4 cores, 2 x NVIDIA H200, Open MPI 4.1.6\n\n"
                               "  all paths work\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("a run takes  shared for host memory, peer for device memory"),
                          Not(HasSubstr("MPI_Send")), Not(HasSubstr("seen:"))));
}

TEST(DoctorReport, TellsWhatChanged) {
  Evidence now = with_gpus();
  const std::string before = json_of(now);
  EXPECT_THAT(changes(before, json_of(now), "f"), IsEmpty());
  now.facts.node.mpi = "Open MPI 5.0.11";
  now.paths[1].times[0].us *= 2;
  now.paths[3] = ends("peer", Memory::device, Outcome::unavailable, "invalid handle");
  EXPECT_THAT(changes(before, json_of(now), "f"),
              AllOf(Contains(Change{"mpi", "Open MPI 4.1.6", "Open MPI 5.0.11"}),
                    Contains(Change{"path peer:device", "works", "unavailable"}),
                    Contains(Field(&Change::what, "time of 8 bytes by mpi:host")),
                    Contains(Field(&Change::what, StartsWith("finding: kernels cannot store")))));
  EXPECT_THROW(changes("my thesis", before, "f"), Error);
  EXPECT_THROW(changes("{}", before, "f"), Error);
}

}  // namespace
}  // namespace halocline::test
