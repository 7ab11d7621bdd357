// SPDX-License-Identifier: Apache-2.0
// How doctor would start a run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/advice.hpp"
#include "support/evidence.hpp"

namespace halocline::test {
namespace {

using namespace doctor;
using namespace doctor::made_up;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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

TEST(DoctorAdvice, NamesALauncherWholeThatPathDoesNotLeadTo) {
  Evidence evidence = healthy();
  evidence.facts.launching.first_in_path = "/opt/fake/mpirun";
  EXPECT_THAT(launch_line(recommended_start(evidence, User::ordinary)),
              StartsWith("/usr/bin/mpirun -n 4 "));
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

TEST(DoctorAdvice, WhatStopsARunInTimeToSaveIt) {
  EXPECT_EQ(stop_line({.starter = Starter::open_mpi, .launcher = "mpirun"}),
            "kill -USR1 PID (the process id of mpirun)");
  EXPECT_EQ(stop_line({.starter = Starter::hydra, .launcher = "mpiexec.hydra"}),
            "kill -USR1 PID (the process id of mpiexec.hydra)");
  EXPECT_EQ(stop_line({.starter = Starter::srun}), "scancel --signal=USR1 JOB");
  for (const Starter other : {Starter::pals, Starter::as_given})
    EXPECT_THAT(stop_line({.starter = other}), StartsWith("touch FOLDER/stop"));
  Evidence evidence = healthy();
  evidence.facts.launching.launcher = Launcher{.path = "/opt/site/run", .arguments = {}};
  evidence.facts.launching.launcher->kind = LauncherKind::other;
  EXPECT_THAT(stop_line(recommended_start(evidence, User::ordinary)),
              StartsWith("touch FOLDER/stop"));
  evidence.facts.launching.launcher->kind = LauncherKind::open_mpi;
  EXPECT_EQ(stop_line(recommended_start(evidence, User::ordinary)),
            "kill -USR1 PID (the process id of run)");
}

TEST(DoctorAdvice, KeepsTheOptionsOfTheUsersLauncher) {
  Evidence evidence = healthy();
  Launching& launching = evidence.facts.launching;
  launching.chosen_by = "HALOCLINE_LAUNCHER";
  launching.launcher->arguments = {"--mca", "pml", "ob1"};
  EXPECT_THAT(launch_line(recommended_start(evidence, User::ordinary)),
              StartsWith("mpirun --mca pml ob1 -n 4 --bind-to core halocline"));
  launching.launcher->arguments = {"--mca", "pml", "ob1", "-np", "{ranks}"};
  EXPECT_THAT(launch_line(recommended_start(evidence, User::ordinary)),
              StartsWith("/usr/bin/mpirun --mca pml ob1 -np 4 halocline"));
  launching.launcher = Launcher{LauncherKind::srun, "/usr/bin/srun", {"--mpi=pmix_v4"}};
  EXPECT_THAT(launch_line(recommended_start(evidence, User::ordinary)),
              AllOf(StartsWith("srun --mpi=pmix_v4 -n 4 "), Not(HasSubstr("--mpi=pmix "))));
  launching.objection = "belongs to MPICH";
  EXPECT_THAT(launch_line(recommended_start(evidence, User::ordinary)), Not(HasSubstr("pmix_v4")));
}

TEST(DoctorAdvice, ScriptsHaveALineForWhatSitesAsk) {
  const Start start = recommended_start(healthy(), User::ordinary);
  EXPECT_THAT(batch_script(start, Batch::slurm),
              AllOf(HasSubstr("\n#SBATCH --output="), HasSubstr("\n##SBATCH --account="),
                    HasSubstr("\n##SBATCH --partition=")));
  EXPECT_THAT(batch_script(start, Batch::pbs),
              AllOf(HasSubstr("\n##PBS -A "), HasSubstr("\n##PBS -q ")));
}

TEST(DoctorAdvice, LongCommandsAreOneForAShell) {
  EXPECT_THAT(in_lines("mpirun -n 2 a"), ElementsAre("mpirun -n 2 a"));
  const std::string word(50, 'x');
  EXPECT_THAT(in_lines("mpirun " + word + " " + word), ElementsAre("mpirun " + word + " \\", word));
}

}  // namespace
}  // namespace halocline::test
