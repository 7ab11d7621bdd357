// SPDX-License-Identifier: Apache-2.0
// What doctor makes of facts and of what became of paths; all of them made up.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/findings.hpp"
#include "support/evidence.hpp"
#include "support/findings.hpp"

namespace halocline::test {
namespace {

using namespace doctor;
using namespace doctor::made_up;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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
  EXPECT_FOUND(evidence, broken("no launcher", "looked for mpirun", "openmpi-bin"));
}

TEST(DoctorFindings, TheLauncherOfAnotherFamily) {
  Evidence evidence = healthy();
  evidence.facts.launching.objection = "belongs to MPICH";
  evidence.facts.failed_start = ProbeFacts{.ranks = {{.size = 1}, {.size = 1}}};
  evidence.facts.launching.instead = Launcher{LauncherKind::open_mpi, "/usr/bin/mpirun.openmpi"};
  EXPECT_FOUND(evidence, broken("launcher of another MPI", "each of 2 ranks ran alone",
                                "/usr/bin/mpirun.openmpi"));
  EXPECT_EQ(verdict(evidence, findings(evidence), Strictness::lenient), Verdict::problems);
}

TEST(DoctorFindings, RanksAloneUnderSrun) {
  Evidence evidence = healthy();
  evidence.facts.launching.launcher = Launcher{LauncherKind::srun, "/usr/bin/srun"};
  for (RankSeen& rank : evidence.facts.ranks.ranks) rank.size = 1;
  EXPECT_THAT(findings(evidence),
              Contains(broken("do not find each other", "the only rank", "--mpi=pmix")));
}

TEST(DoctorFindings, AnSrunThatIsNotToldHowThisMpiStarts) {
  Evidence evidence = healthy();
  evidence.paths.clear();
  evidence.facts.ranks = {.ended_badly = "exit code 1; it says: OPAL ERROR: Unreachable"};
  Launcher& srun = evidence.facts.launching.launcher.emplace();
  srun = {LauncherKind::srun, "/usr/bin/srun", {"-n", "{ranks}"}};
  EXPECT_FOUND(evidence, broken("do not start", "OPAL", "--mpi=pmix"));
  srun.arguments.push_back("--mpi=pmi2");
  EXPECT_FOUND(evidence, broken("do not start", "OPAL",
                                "called with --mpi=pmi2: Open MPI starts by --mpi=pmix"));
  srun.arguments.back() = "--mpi=pmix_v4";
  EXPECT_FOUND(evidence, broken("do not start", "OPAL", "bench p2p"));
  evidence.facts.ranks.ended_badly = "srun: fatal: Could not establish a configuration source";
  EXPECT_FOUND(evidence, broken("do not start", "source", "finds no Slurm"));
}

TEST(DoctorFindings, RanksThatDoNotStart) {
  Evidence evidence = healthy();
  evidence.paths.clear();
  evidence.facts.ranks = {.ended_badly = "timed out after 20 s"};
  EXPECT_FOUND(evidence, broken("do not start", "timed out after 20 s",
                                "/usr/bin/mpirun -n 2 --bind-to none halocline bench p2p"));
  evidence.facts.launching.launcher->arguments = {"-H", "n1,n2"};
  evidence.facts.node.is_root = true;
  EXPECT_FOUND(evidence,
               broken("do not start", "timed out", "mpirun --allow-run-as-root -H n1,n2 -n 2"));
  evidence.facts.node.limits.shm_bytes = 64 << 10;
  EXPECT_FOUND(evidence, broken("do not start", "/dev/shm has a size of 64 KiB", "--shm-size"));
}

TEST(DoctorFindings, WhatProcessesLackIsNamedWhereRanksDoNotStart) {
  Evidence evidence = healthy();
  evidence.paths.clear();
  evidence.facts.ranks = {.ended_badly = "no output for 20 s"};
  Limits& limits = evidence.facts.node.limits;
  limits.of_processes = {.open_files = 30, .processes = 8};
  EXPECT_FOUND(evidence, broken("do not start",
                                "no output for 20 s; ulimit -n allows 30 open files; ulimit -u "
                                "allows this user 8 processes",
                                "ulimit -n 1024"));
  evidence.facts.node.is_root = true;  // whom the kernel counts no processes of
  limits = {.shm_bytes = limits.shm_bytes, .temporary = "/scratch", .temporary_free_bytes = 4096};
  EXPECT_FOUND(
      evidence,
      broken("do not start", "/scratch, where MPI keeps what its processes share, has 4 KiB free",
             "set TMPDIR"));
  limits.temporary_is_writable = false;
  EXPECT_FOUND(evidence, broken("do not start", "/scratch, cannot be written", "set TMPDIR"));
  limits.temporary_free_bytes.reset();
  EXPECT_FOUND(evidence, broken("do not start", "/scratch, is missing", "set TMPDIR"));
  evidence = healthy();
  evidence.facts.node.limits.of_processes.open_files = 30;
  EXPECT_THAT(findings(evidence), IsEmpty());
  evidence.paths.back() = ends("shared", Memory::host, Outcome::unavailable, "no window");
  EXPECT_FOUND(evidence, slow("cannot use transport shared", "no window; ulimit -n allows 30",
                              "ulimit -n 1024"));
}

TEST(DoctorFindings, ParametersInFiles) {
  Evidence evidence = healthy();
  evidence.facts.failed_start = ProbeFacts{.ended_badly = "unable to reach each other"};
  evidence.facts.launching.blamed_files = {
      {"/home/me/.openmpi/mca-params.conf", {{"btl", "self"}}}};
  evidence.facts.launching.other_files = "/etc/openmpi/openmpi-mca-params.conf";
  EXPECT_FOUND(
      evidence,
      broken("do not start with MPI's parameters in /home/me/.openmpi/mca-params.conf (btl = self)",
             "unable to reach each other",
             "OMPI_MCA_mca_base_param_files=/etc/openmpi/openmpi-mca-params.conf leaves them out"));
}

TEST(DoctorFindings, AStartThatFailsByChance) {
  Evidence evidence = healthy();
  evidence.facts.failed_start = ProbeFacts{.ended_badly = "lost connection"};
  evidence.facts.launching.failed_by_chance = true;
  EXPECT_FOUND(evidence, broken("do not start every time", "lost connection", "repeat doctor"));
}

TEST(DoctorFindings, CausesThatLaunchersName) {
  Evidence evidence = healthy();
  evidence.paths.clear();
  const auto said = [&](const char* words) {
    evidence.facts.ranks = {.ended_badly = words};
    return findings(evidence);
  };
  EXPECT_THAT(said("There are not enough slots available in the system"),
              ElementsAre(broken("do not start", "slots", "--oversubscribe")));
  EXPECT_THAT(said("Open RTE was unable to open the hostfile: hosts"),
              ElementsAre(broken("do not start", "hosts", "name of the hostfile")));
  EXPECT_THAT(said("opal_ifinit: unable to find network interfaces."),
              ElementsAre(broken("do not start", "", "ip link set lo up")));
  EXPECT_THAT(said("mpirun: Error: unknown option \"--nonesuch\""),
              ElementsAre(broken("do not start", "--nonesuch", "that option")));
}

TEST(DoctorFindings, ARankThatIsKilled) {
  Evidence evidence = healthy();
  const char* how = "rank 1 was ended by signal 9 (Killed), while sending 8 bytes";
  evidence.paths.front() = ends("MPI_Send", Memory::host, Outcome::failed, how);
  evidence.bad_ends = {how};
  EXPECT_FOUND(evidence, broken("MPI_Send", "signal 9", "lack of memory"),
               broken("MPI_Finalize", "signal 9", "lack of memory"));
  evidence = healthy();
  evidence.paths.front() = ends("MPI_Send", Memory::host, Outcome::failed, "std::bad_alloc");
  EXPECT_FOUND(evidence, broken("MPI_Send", "", "found no memory"));
  evidence = healthy();
  evidence.paths.clear();
  evidence.facts.ranks = {.ended_badly = how};
  EXPECT_FOUND(evidence, broken("do not start", "signal 9", "lack of memory"));
}

TEST(DoctorFindings, LimitsOfEachProcess) {
  Evidence evidence = healthy();
  ProcessLimits& limits = evidence.facts.node.limits.of_processes;
  limits.address_bytes = std::int64_t{300} << 20;
  limits.file_bytes = 100 << 10;
  limits.cpu_seconds = 1;
  EXPECT_THAT(findings(evidence), IsEmpty());
  evidence.collectives = {ends("MPI_Allgather", Memory::host, Outcome::failed, "std::bad_alloc")};
  EXPECT_FOUND(evidence,
               broken("MPI_Allgather with host memory does not work",
                      "ulimit -v allows each process 300 MiB of addresses; ulimit -f allows "
                      "files of 100 KiB, also in memory; ulimit -t allows each process 1 s",
                      "ulimit -v unlimited"));
}

TEST(DoctorFindings, LimitsAreNotBlamedForWhatTheyCannotCause) {
  Evidence evidence = healthy();
  evidence.facts.node.limits.of_processes.open_files = 60;
  evidence.facts.node.settings["LD_PRELOAD"] = "x.so";
  PathResult& result = evidence.paths.front();
  const auto blames_x = ElementsAre(broken("MPI_Send", "", "LD_PRELOAD puts x.so"));
  result = ends("MPI_Send", Memory::host, Outcome::wrong, "byte 100 of 4096");
  EXPECT_THAT(findings(evidence), blames_x);
  result = ends("MPI_Send", Memory::host, Outcome::failed, "rank 0 was ended by signal 11");
  result.signal = 11;
  EXPECT_THAT(findings(evidence), blames_x);
  result = ends("MPI_Send", Memory::host, Outcome::failed,
                "rank 0 has waited 10 s; that rank is stopped, lost or doing something else");
  EXPECT_THAT(findings(evidence), blames_x);
  result.how = "cannot open a file";
  EXPECT_FOUND(evidence, broken("MPI_Send", "60 open files", "ulimit -n"));
}

TEST(DoctorFindings, NoProgramForOtherNodes) {
  Evidence evidence = healthy();
  evidence.paths.clear();
  evidence.facts.ranks = {.ended_badly = "could not be found: plm_rsh_agent: ssh : rsh"};
  EXPECT_FOUND(evidence,
               broken("do not start", "plm_rsh_agent", "OMPI_MCA_plm_rsh_agent=sh does as well"));
}

TEST(DoctorFindings, AnotherLauncherFirstInPath) {
  Evidence evidence = healthy();
  evidence.facts.launching.first_in_path = "/opt/fake/mpirun";
  evidence.facts.launching.objection_to_first = "does not name its MPI in --version";
  EXPECT_FOUND(
      evidence,
      note("PATH has another mpirun first",
           "/opt/fake/mpirun does not name its MPI in --version; doctor used /usr/bin/mpirun",
           "start with /usr/bin/mpirun, as the launch line does"));
  evidence.facts.launching.first_in_path = "";
  EXPECT_FOUND(evidence,
               note("mpirun is not in PATH", "/usr/bin/mpirun", "put /usr/bin first in PATH"));
}

TEST(DoctorFindings, RanksThatDoNotGetThroughMpiFinalize) {
  Evidence evidence = healthy();
  evidence.bad_ends = {"timed out after 20 s"};
  const char* what = "finish their work, but not MPI_Finalize";
  EXPECT_FOUND(
      evidence,
      broken(what, "a job that had finished its tests: timed out after 20 s; Open MPI 4.1.6",
             "--mca pml ob1"));
  EXPECT_EQ(verdict(evidence, findings(evidence), Strictness::lenient), Verdict::problems);
  evidence.bad_ends.push_back("another");
  evidence.facts.node.mpi = "MPICH 4.0.2";
  evidence.facts.node.family = MpiFamily::mpich;
  evidence.facts.ranks.mpi_settings = {{"device", "ch4:ucx"}};
  EXPECT_FOUND(evidence, broken(what,
                                "2 jobs that had finished their tests; the first: timed out after "
                                "20 s; MPICH 4.0.2, ch4:ucx",
                                "another version of MPICH, or one built with libfabric (ch4:ofi): "
                                "MPICH 4.0.2 over UCX"));
  evidence.facts.ranks.mpi_settings = {{"device", "ch4:ofi,ucx"}};
  EXPECT_FOUND(evidence, broken(what, "ofi,ucx", "MPIR_CVAR_CH4_NETMOD=ofi"));
  evidence.facts.node.settings["LD_PRELOAD"] = "x.so";
  EXPECT_FOUND(evidence, broken(what, "ofi", "x.so between program and MPI"));
}

TEST(DoctorFindings, AnotherLauncherTakenInstead) {
  Evidence evidence = healthy();
  evidence.facts.failed_start = ProbeFacts{};
  evidence.facts.failed_start->ended_badly = "timed out after 20 s";
  evidence.facts.launching.instead = Launcher{LauncherKind::open_mpi, "/usr/bin/mpirun.openmpi"};
  EXPECT_FOUND(evidence, broken("do not start", "timed out after 20 s",
                                "doctor used /usr/bin/mpirun.openmpi"));
  evidence.facts.failed_start->ended_badly.clear();
  evidence.facts.failed_start->ranks = {{.size = 4}};
  EXPECT_FOUND(evidence, broken("does not start the 2 ranks", "started 4", "write {ranks}"));
  evidence.facts.launching.launcher->arguments = {"-n", "{ranks}"};
  EXPECT_FOUND(evidence,
               broken("does not start the 2 ranks", "started 4", "it does not follow it"));
}

TEST(DoctorFindings, ARankThatIsStopped) {
  Evidence evidence = healthy();
  evidence.paths.back() =
      ends("shared", Memory::host, Outcome::failed,
           "rank 0 has waited 10 s in finish for rank 1; that rank is stopped, lost or doing "
           "something else (option 'wait_limit' sets how long to wait)");
  EXPECT_FOUND(evidence, broken("transport shared", "rank 1", "T for a process that is stopped"));
  evidence.paths.back() =
      ends("shared", Memory::host, Outcome::untried, "no output for 20 s before anything was sent");
  evidence.bad_ends = {
      "rank 0: MPI_Finalize has not returned for 10 s; another rank is stopped, lost or in another "
      "call"};
  EXPECT_FOUND(evidence, broken("transport shared", "no output", "T for a process that is stopped"),
               broken("MPI_Finalize", "another rank", "T for a process that is stopped"));
  evidence.bad_ends.clear();
  evidence.paths.clear();
  evidence.facts.ranks = {.doing = "making communicators",
                          .ended_badly =
                              "rank 0 has waited 10 s in barrier for rank 1; that rank is stopped, "
                              "lost or doing something else"};
  EXPECT_FOUND(evidence, broken("end early", "rank 1", "T for a process that is stopped"));
}

TEST(DoctorFindings, RanksOnOneCore) {
  Evidence evidence = healthy();
  for (RankSeen& rank : evidence.facts.ranks.ranks) rank.cores = "3";
  EXPECT_FOUND(evidence, slow("2 ranks share core 3", "only on core 3", "--bind-to none"));
  evidence.facts.node.usable_cores = 1;
  evidence.facts.node.allowed_cores = "3";
  EXPECT_FOUND(evidence, slow("2 ranks share core 3", "of 4", "taskset"));
  evidence.facts.node.settings["GOMP_CPU_AFFINITY"] = "3";
  EXPECT_FOUND(evidence, slow("2 ranks share core 3", "of 4",
                              "unset what binds threads of OpenMP: GOMP_CPU_AFFINITY=3"));
}

TEST(DoctorFindings, ThreadsThatOpenMpBinds) {
  Evidence evidence = healthy();
  evidence.facts.node.settings["OMP_PROC_BIND"] = "close";
  EXPECT_FOUND(evidence,
               note("OpenMP binds threads here", "OMP_PROC_BIND=close", "as the launch line"));
  evidence.facts.node.settings["OMP_PROC_BIND"] = "false";
  EXPECT_THAT(findings(evidence), ElementsAre());
}

TEST(DoctorFindings, SharedMemoryThatIsTooSmall) {
  Evidence evidence = healthy();
  evidence.facts.node.limits.shm_bytes = 64 << 10;
  EXPECT_FOUND(evidence, slow("/dev/shm is too small", "64 KiB", "--shm-size"));
  evidence.paths.back() = ends("shared", Memory::host, Outcome::failed, "signal 7 (Bus error)");
  EXPECT_FOUND(evidence, broken("transport shared with host memory does not",
                                "Bus error); /dev/shm has a size of 64 KiB", "--shm-size"));
  evidence = healthy();
  evidence.facts.node.limits.shm_bytes = 20 << 20;
  EXPECT_FOUND(evidence, note("/dev/shm is small for 4 ranks"));
}

TEST(DoctorFindings, NamespacesOfTheirOwn) {
  Evidence evidence = healthy();
  RankSeen& rank = evidence.facts.ranks.ranks.back();
  rank.ipc_namespace = "ipc:[2]";
  EXPECT_FOUND(evidence, note("IPC namespaces", "ipc:[2]", "--ipc=host")) << "nothing suffers";
  rank.process_namespace = "pid:[2]";
  EXPECT_THAT(findings(evidence),
              Contains(slow("each other's processes", "pid:[2]", "--pid=host")));
  rank.host = "node2";
  EXPECT_THAT(findings(evidence), IsEmpty());
}

TEST(DoctorFindings, OneCauseIsOneFinding) {
  Evidence evidence = healthy();
  evidence.facts.ranks.ranks.back().shm_device = "28";
  evidence.facts.node.limits.shm_bytes = 64 << 10;
  evidence.paths.back() = ends("shared", Memory::host, Outcome::failed, "signal 7 (Bus error)");
  EXPECT_FOUND(evidence, broken("transport shared", "different /dev/shm", "--ipc=host"));
  evidence = with_gpus();
  evidence.facts.ranks.ranks.back().ipc_namespace = "ipc:[2]";
  evidence.paths[3] = ends("peer", Memory::device, Outcome::unavailable, "invalid handle");
  EXPECT_FOUND(evidence, slow("IPC namespaces", "invalid handle", "--ipc=host"));
}

TEST(DoctorFindings, SharedMemoryThatIsTooSmallForLargeMessages) {
  Evidence evidence = healthy();
  evidence.facts.node.limits.shm_bytes = evidence.facts.node.limits.shm_free_bytes = 64 << 20;
  PathResult& shared = evidence.paths.back();
  shared = ends("shared", Memory::host, Outcome::failed, "no output for 20 s");
  shared.tried = {16 << 20};
  shared.arrived_bytes = 1 << 20;
  EXPECT_FOUND(
      evidence,
      broken("transport shared",
             "/dev/shm has a size of 64 MiB, 2 ranks with messages of 16 MiB need up to 80 MiB",
             "--shm-size"));
  shared.outcome = Outcome::unavailable;
  EXPECT_FOUND(evidence, slow("only for messages of up to 1 MiB", "80 MiB", "--shm-size"));
  evidence.facts.node.limits.shm_bytes = evidence.facts.node.limits.shm_free_bytes = 8LL << 30;
  shared = ends("shared", Memory::host, Outcome::unavailable, "MPI_ERR_INTERN");
  EXPECT_FOUND(evidence, slow("cannot use transport shared", "MPI_ERR_INTERN", "df -h"));
}

TEST(DoctorFindings, ALimitThatIsTooShortBreaksNothing) {
  Evidence evidence = healthy();
  evidence.paths[1] = ends("mpi", Memory::host, Outcome::untried, "the limit of 1 s was too short");
  evidence.paths[1].out_of_time = true;
  EXPECT_FOUND(evidence, untested("transport mpi", "1 s", "--time-limit"));
  EXPECT_EQ(verdict(evidence, findings(evidence), Strictness::lenient), Verdict::untested);
  evidence.paths.clear();
  evidence.facts.ranks = {.doing = "", .ended_badly = "the limit was too short"};
  evidence.facts.ranks.out_of_time = true;
  EXPECT_FOUND(evidence, untested("anything"));
}

TEST(DoctorFindings, SettingsWithoutWhichRanksStart) {
  Evidence evidence = healthy();
  evidence.facts.failed_start = ProbeFacts{};
  evidence.facts.failed_start->ended_badly = "exit code 1; its output: PML foo cannot be selected";
  evidence.facts.launching.blamed = {{"OMPI_MCA_pml", "foo"}};
  EXPECT_FOUND(evidence, broken("do not start with OMPI_MCA_pml=foo", "PML foo cannot be selected",
                                "unset OMPI_MCA_pml"));
  evidence.facts.launching.blamed.clear();
  evidence.facts.launching.chosen_by = "HALOCLINE_LAUNCHER";
  evidence.facts.launching.launcher->arguments = {"--mca", "pml", "foo"};
  evidence.facts.launching.instead = Launcher{LauncherKind::open_mpi, "/usr/bin/mpirun.openmpi"};
  EXPECT_FOUND(evidence,
               broken("do not start", "PML foo", "what HALOCLINE_LAUNCHER sets: OMPI_MCA_pml=foo"));
}

TEST(DoctorFindings, RanksThatEndBeforeTheySayWhoTheyAre) {
  Evidence evidence = healthy();
  evidence.paths.clear();
  evidence.facts.ranks = {.doing = "making communicators", .ended_badly = "signal 11"};
  EXPECT_FOUND(evidence, broken("end early, while making communicators", "signal 11", "bench p2p"));
}

TEST(DoctorFindings, MessagesThatLeaveTheNodesMemory) {
  Evidence evidence = healthy();
  evidence.paths[1].times.front().us = 12;
  auto& settings = evidence.facts.node.settings;
  const auto detour = [](const char* seen, const char* fix) {
    return ElementsAre(slow("does not use shared memory", seen, fix));
  };
  settings = {{"OMPI_MCA_btl", "self,tcp"}};
  EXPECT_THAT(findings(evidence), detour("OMPI_MCA_btl is 'self,tcp'; 8 bytes", "add vader"));
  evidence.facts.launching.blamed = {{"OMPI_MCA_btl", "self,tcp"}};
  evidence.facts.failed_start = ProbeFacts{.ended_badly = "unreachable"};
  EXPECT_FOUND(evidence, broken("do not start with")) << "ranks did not get it";
  evidence.facts.launching.blamed.clear();
  evidence.facts.failed_start.reset();
  evidence.paths[1].times.front().us = 1.27;
  EXPECT_THAT(findings(evidence), IsEmpty()) << "as fast as shared memory";
  evidence.paths[1].times.front().us = 12;
  settings = {{"OMPI_MCA_btl", "^vader"}};
  EXPECT_THAT(findings(evidence), detour("'^vader'", "unset OMPI_MCA_btl"));
  for (const char* list : {"self,vader,tcp", "sm,self", "^openib", "^tcp,ofi"}) {
    settings = {{"OMPI_MCA_btl", list}};
    EXPECT_THAT(findings(evidence), IsEmpty()) << list;
  }
  settings = {{"UCX_TLS", "tcp,self"}};
  EXPECT_THAT(findings(evidence), IsEmpty()) << "nothing says that this MPI uses UCX";
  settings["OMPI_MCA_pml"] = "ucx";
  EXPECT_THAT(findings(evidence), detour("UCX_TLS is 'tcp,self'", "add sm"));
  settings["UCX_TLS"] = "^cuda_ipc";
  EXPECT_THAT(findings(evidence), IsEmpty());
  settings.clear();
  evidence.facts.ranks.mpi_settings = {{"btl", "tcp,self"}};
  EXPECT_THAT(findings(evidence), detour("parameter btl is 'tcp,self'", "mca-params.conf"));
  evidence.facts.node.family = MpiFamily::mpich;
  EXPECT_THAT(findings(evidence), IsEmpty());
  settings = {{"MPIR_CVAR_NOLOCAL", "1"}};
  EXPECT_THAT(findings(evidence), detour("MPIR_CVAR_NOLOCAL", "unset MPIR_CVAR_NOLOCAL"));
  for (PathResult& result : evidence.paths) result.path.distance = Distance::other_node;
  EXPECT_THAT(findings(evidence),
              testing::Contains(slow("does not use shared memory", "MPIR_CVAR_NOLOCAL",
                                     "unset MPIR_CVAR_NOLOCAL")));
}

TEST(DoctorFindings, OtherWorkOnTheMachine) {
  Evidence evidence = healthy();
  evidence.facts.node.load = 2.3;
  EXPECT_THAT(findings(evidence), IsEmpty()) << "two of four threads are free";
  evidence.facts.node.load = 7.3;
  EXPECT_FOUND(evidence, note("busy", "load 7.3", "quiet machine"));
  EXPECT_EQ(verdict(evidence, findings(evidence), Strictness::strict), Verdict::fine);
}

TEST(DoctorFindings, CollectivesThatAreWrongOnTheHost) {
  Evidence evidence = healthy();
  evidence.collectives = {works(collectives[0], Memory::host, 8),
                          works(collectives[1], Memory::host, 8)};
  EXPECT_THAT(findings(evidence), IsEmpty());
  evidence.collectives[0] =
      ends(collectives[0], Memory::host, Outcome::wrong, "byte 0 of 8 that rank 1 received");
  EXPECT_FOUND(evidence,
               broken("wrong values from MPI_Allreduce on host", "byte 0 of 8", "coll ^hcoll"));
  evidence.collectives[1] = ends(collectives[1], Memory::host, Outcome::failed, "signal 11");
  EXPECT_THAT(findings(evidence),
              Contains(broken("MPI_Bcast with host memory", "signal 11", "coll")));
}

TEST(DoctorFindings, NoDirectCopies) {
  Evidence evidence = healthy();
  evidence.facts.ranks.direct_reads = false;
  evidence.facts.ranks.direct_reads_because = "Operation not permitted";
  evidence.facts.node.limits.container = "docker";
  EXPECT_FOUND(evidence, note("CMA", "without CAP_SYS_PTRACE", "SYS_PTRACE"));
}

TEST(DoctorFindings, LockedMemoryMattersToInfiniBandOnly) {
  Evidence evidence = healthy();
  evidence.facts.node.limits.memlock_bytes = 64 << 10;
  EXPECT_THAT(findings(evidence), IsEmpty());
  evidence.facts.node.adapters = {{"mlx5_0", "0-3"}};
  EXPECT_FOUND(evidence, slow("locked", "mlx5_0", "unlimited"));
}

TEST(DoctorFindings, FailuresAlikeAreToldOnce) {
  Evidence evidence = healthy();
  evidence.paths[0] = ends("MPI_Send", Memory::host, Outcome::failed, "timed out after 20 s");
  evidence.paths[1] = ends("mpi", Memory::host, Outcome::failed, "timed out after 20 s");
  EXPECT_FOUND(evidence,
               broken("MPI_Send between two ranks and transport mpi with host memory do not work",
                      "timed out after 20 s", "--mca btl self,tcp"));
  evidence.facts.node.settings["LD_PRELOAD"] = "/opt/spy.so";
  EXPECT_FOUND(evidence, testing::Field(&Finding::fix, HasSubstr("/opt/spy.so")));
}

TEST(DoctorFindings, WrongBytesComeFirst) {
  Evidence evidence = healthy();
  evidence.facts.ranks.direct_reads = false;
  evidence.paths[1] = ends("mpi", Memory::host, Outcome::wrong, "byte 7 of 8");
  EXPECT_FOUND(evidence, broken("delivers wrong bytes"), note("CMA"));
}

TEST(DoctorFindings, AnMpiThatIsNotGpuAware) {
  Evidence evidence = with_gpus();
  aware(evidence) = ends("gpu_aware", Memory::device, Outcome::failed,
                         "rank 0 was ended by signal 11 (Segmentation fault)");
  EXPECT_FOUND(evidence, absent("is not GPU-aware", "signal 11", "libucx-cu13"));
  EXPECT_EQ(verdict(evidence, findings(evidence), Strictness::lenient), Verdict::fine);
  EXPECT_EQ(verdict(evidence, findings(evidence), Strictness::strict), Verdict::incomplete);
}

TEST(DoctorFindings, AFalseClaim) {
  Evidence evidence = with_gpus();
  evidence.facts.ranks.claims_gpu = true;
  aware(evidence) = ends("gpu_aware", Memory::device, Outcome::failed, "signal 11");
  EXPECT_FOUND(evidence, broken("falsely claims to accept GPU memory",
                                "MPIX_Query_cuda_support() returns yes; signal 11", ""));
}

TEST(DoctorFindings, ASettingThatCures) {
  Evidence evidence = with_gpus();
  PathResult fixed = aware(evidence);
  fixed.with = with_cache_off;
  aware(evidence) = ends("gpu_aware", Memory::device, Outcome::failed, "signal 11");
  evidence.paths.push_back(fixed);
  EXPECT_FOUND(evidence, slow("only with other settings", "signal 11",
                              "set UCX_MEMTYPE_CACHE=n: tried here, and every byte arrived"));
  EXPECT_EQ(fix_settings(evidence), with_cache_off);
}

TEST(DoctorFindings, ASettingThatDoesNot) {
  Evidence evidence = with_gpus();
  evidence.facts.node.mpi = "MPICH 4.0.2";
  evidence.facts.node.family = MpiFamily::mpich;
  aware(evidence) = ends("gpu_aware", Memory::device, Outcome::failed, "signal 11");
  evidence.paths.push_back(aware(evidence));
  aware(evidence).with = {{"MPIR_CVAR_ENABLE_GPU", "1"}};
  EXPECT_FOUND(evidence, absent("MPICH 4.0.2 is not GPU-aware",
                                "retried with MPIR_CVAR_ENABLE_GPU=1: the same", "--with-cuda"));
  EXPECT_THAT(fix_settings(evidence), IsEmpty());
}

TEST(DoctorFindings, ASettingThatHoldsBack) {
  Evidence evidence = with_gpus();
  evidence.facts.node.settings = with_cache_off;
  PathResult again = aware(evidence);
  again.with = {{"UCX_MEMTYPE_CACHE", "y"}};
  evidence.paths.push_back(again);
  EXPECT_THAT(findings(evidence), IsEmpty()) << "no faster";
  EXPECT_THAT(fix_settings(evidence), IsEmpty());
  for (probe::Time& time : aware(evidence).times) time.us /= 7;
  EXPECT_FOUND(evidence, slow("a setting slows it down", "2.50 us now",
                              "set UCX_MEMTYPE_CACHE=y: tried here"));
  EXPECT_EQ(fix_settings(evidence), again.with);
}

TEST(DoctorFindings, CopiesThatAreTurnedOff) {
  Evidence evidence = healthy();
  evidence.facts.node.settings = {{"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}};
  EXPECT_FOUND(evidence, note("twice, without need"));
  evidence.facts.ranks.direct_reads = false;
  EXPECT_FOUND(evidence, note("(CMA)"));
}

TEST(DoctorFindings, GpuAwareSlowerThanStaging) {
  Evidence evidence = with_gpus();
  evidence.facts.node.gpu_files = 2;
  for (probe::Time& time : aware(evidence).times)
    if (time.bytes <= 4096) time.us = 30;
  EXPECT_FOUND(evidence, note("for messages up to 4 KiB", "gpu_aware 30.0 us", "staged"));
  for (probe::Time& time : aware(evidence).times)
    if (time.bytes <= 64 << 10) time.us = 30;
  EXPECT_FOUND(evidence, slow("for messages up to 64 KiB"));
  for (probe::Time& time : aware(evidence).times) time.us = 1e5;
  EXPECT_THAT(findings(evidence), AllOf(Contains(slow("even for large messages")),
                                        Contains(note("does not use the direct path"))));
}

TEST(DoctorFindings, ADirectWayOfMpiMayBeSlowerThanOurs) {
  Evidence evidence = with_gpus();
  const auto us_of_largest = [&](PathResult& result) -> double& { return result.times.back().us; };
  PathResult* staged = nullptr;
  for (PathResult& result : evidence.paths)
    if (result.path == Path{"staged", Memory::device}) staged = &result;
  ASSERT_NE(staged, nullptr);
  for (PathResult& result : evidence.paths)
    if (result.path == Path{"peer", Memory::device}) us_of_largest(result) = 70;
  us_of_largest(*staged) = 2900;
  us_of_largest(aware(evidence)) = 210;
  EXPECT_THAT(findings(evidence), Not(Contains(note("the direct path"))));
  us_of_largest(aware(evidence)) = 1500;
  EXPECT_THAT(findings(evidence),
              Contains(note("does not use the direct path", "staged 2.90 ms", "")));
}

TEST(DoctorFindings, ARunThatDoesNotTakeTheFastest) {
  Evidence evidence = with_gpus();
  evidence.paths[3] = works("peer", Memory::device, 20);
  EXPECT_THAT(findings(evidence),
              Contains(slow("uses peer, though staged is faster", "64 KiB", "--transport staged")));
}

TEST(DoctorFindings, RanksThatShareAGpuLeavePeerOut) {
  Evidence evidence = with_gpus();
  evidence.paths[3] = works("peer", Memory::device, 1);
  EXPECT_EQ(taken_for(evidence, Memory::device, Distance::same_node), "peer");
  evidence.gpu_pair = proof::GpuPair::same_gpu;
  EXPECT_EQ(taken_for(evidence, Memory::device, Distance::same_node), "gpu_aware");
  for (machine::RankFacts& rank : evidence.facts.ranks.machine) rank.under_mps = true;
  EXPECT_EQ(taken_for(evidence, Memory::device, Distance::same_node), "peer");
}

TEST(DoctorFindings, GpusThatCannotBeUsed) {
  Evidence evidence = with_gpus();
  evidence.paths.resize(3);
  evidence.gpu_pair.reset();
  for (machine::RankFacts& rank : evidence.facts.ranks.machine) {
    rank.visible.clear();
    rank.none_because = "there is no NVIDIA driver here";
  }
  EXPECT_FOUND(evidence, broken("no usable GPU", "no NVIDIA driver", ""));
  evidence.facts.node.settings["CUDA_VISIBLE_DEVICES"] = "";
  EXPECT_FOUND(evidence, note("no usable GPU"));
  evidence.facts.node.settings["CUDA_VISIBLE_DEVICES"] = "0,0";
  EXPECT_FOUND(evidence, broken("no usable GPU", "", "which is '0,0'"));
  evidence.facts.node.built_with_cuda = false;
  EXPECT_FOUND(evidence, absent("this build does not use GPUs"));
}

TEST(DoctorFindings, GpusThatDoNotReachEachOther) {
  Evidence evidence = with_gpus();
  evidence.facts.ranks.peer_access[1] = false;
  EXPECT_FOUND(evidence, slow("not all GPUs", "GPU 0 to GPU 1", "topo"));
  evidence.paths[3] = ends("peer", Memory::device, Outcome::unavailable, "invalid handle");
  EXPECT_THAT(findings(evidence),
              Contains(slow("(transport peer)", "invalid handle", "--ipc=host")));
}

TEST(DoctorFindings, RanksThatSeeOneGpuEach) {
  Evidence evidence = with_gpus();
  auto& ranks = evidence.facts.ranks.machine;
  ranks[0].visible.pop_back();
  ranks[1].visible.erase(ranks[1].visible.begin());
  EXPECT_FOUND(evidence, note("only its own GPU", "rank 1 sees GPU-1", "--gpu-bind=none"));
}

TEST(DoctorFindings, ModesAndParts) {
  Evidence evidence = with_gpus();
  auto& gpus = evidence.facts.ranks.machine.front().visible;
  gpus[0].gpu.mode = device::ComputeMode::prohibited;
  gpus[1].gpu.name = "NVIDIA H200 MIG 1g.18gb";
  EXPECT_FOUND(evidence, broken("GPU 0"), note("one part of a GPU"));
}

TEST(DoctorFindings, SettingsOfAnotherMpi) {
  Evidence evidence = healthy();
  evidence.facts.node.settings = {{"MPICH_GPU_SUPPORT_ENABLED", "1"},
                                  {"MPIR_CVAR_ENABLE_GPU", "1"}};
  EXPECT_FOUND(evidence, note("MPICH_GPU_SUPPORT_ENABLED has no effect"),
               note("MPIR_CVAR_ENABLE_GPU has no effect"));
}

TEST(DoctorFindings, SlowSmallMessages) {
  Evidence evidence = healthy();
  for (probe::Time& time : evidence.paths[1].times) time.us += 200;
  EXPECT_THAT(findings(evidence), Contains(slow("small messages", "201 us", "TCP")));
}

}  // namespace
}  // namespace halocline::test
