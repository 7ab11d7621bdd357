// SPDX-License-Identifier: Apache-2.0
// Siblings made of shell scripts: one stands for a launcher, one for a halocline.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>

#include "base/process/launched.hpp"
#include "comm/collectives.hpp"
#include "probe/ensure.hpp"
#include "probe/jobs.hpp"
#include "support/temporary_folder.hpp"
#include "text/utc.hpp"

namespace halocline::test {
namespace {

using namespace std::chrono_literals;
using probe::Path;
using probe::PathResult;
using probe::ProofRole;
using proof::GpuPair;
using proof::Outcome;
using proof::Proof;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// ------------------------------------------------------------------------------------ probe job

class ProbeJob : public testing::Test {
 protected:
  ProbeJob() {
    // Called as: launcher -n 2 program arguments...
    probes_.launcher = {LauncherKind::other, folder_.put_script("launcher", R"(
shift 2
exec "$@"
)")};
    probes_.time_limit = 10s;
    probes_.on_bad_end = [this](const std::string& how) { bad_ends_.push_back(how); };
    wanted_paths_ = {.paths = {{"gpu_aware", Memory::device}}, .bytes = {8, 64, 4096}};
  }

  /// Sets the program: a probe in which `step` decides how the message of $bytes on $path ends.
  void program(const std::string& step, const std::string& last = "") {
    probes_.program = folder_.put_script("halocline", R"(
echo "$@" >>")" + folder_ / "calls" + R"("
say() { printf 'halocline-probe: {"%s": {"path": "%s"%s}}\n' "$1" "$path" "$2"; }
decide() { say outcome ", \"is\": \"$1\", \"how\": \"$2\""; }
[ "$1" = examine-paths ] && [ "$2" = --paths ] && [ "$4" = --gpus ] || exit 2
sizes='8 64 4096'
[ "$6" = --bytes ] && sizes=$(echo $7 | tr , ' ')
for path in $(echo $3 | tr , ' '); do
  say pairs ', "kinds": ["same-node"]'
  for bytes in $sizes; do
    say trying ", \"bytes\": $bytes"
)" + step + R"(
    say arrived ", \"bytes\": $bytes, \"us\": 1.5"
  done
  [ "$bytes" = stop ] || decide works ''
done
echo 'halocline-probe: {"ends": true}'
)" + last);
  }

  std::vector<PathResult> results() { return probe::try_paths(probes_, wanted_paths_); }
  PathResult only_result() {
    const std::vector<PathResult> all = results();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? PathResult{} : all[0];
  }
  int calls() const {
    std::ifstream file(folder_ / "calls");
    std::string line;
    int count = 0;
    while (std::getline(file, line)) ++count;
    return count;
  }

  TemporaryFolder folder_;
  probe::Probes probes_;
  probe::PathsToTry wanted_paths_;
  std::vector<std::string> bad_ends_;
};

const Path on_device{"gpu_aware", Memory::device}, on_managed{"gpu_aware", Memory::managed};

TEST_F(ProbeJob, ProvesWhatWorksInOneJob) {
  program("");
  wanted_paths_.paths = {on_device, on_managed};
  const std::vector<PathResult> all = results();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].path, on_device);
  EXPECT_EQ(all[1].path, on_managed);
  for (const PathResult& result : all) {
    EXPECT_EQ(result.outcome, Outcome::works);
    EXPECT_EQ(result.how, "");
    EXPECT_THAT(result.pairs, ElementsAre(GpuPair::same_node));
    EXPECT_THAT(result.tried, ElementsAre(8, 64, 4096));
    EXPECT_EQ(probe::us_for(result, 64), 1.5);
  }
  EXPECT_EQ(calls(), 1);
  const std::vector<Proof> proofs = probe::proofs_of(all[1], {"0123456789abcdef", {"MPI: none"}});
  ASSERT_EQ(proofs.size(), 1U);
  EXPECT_EQ(proofs[0].path, "gpu_aware");
  EXPECT_EQ(proofs[0].memory, Memory::managed);
  EXPECT_EQ(proofs[0].pair, GpuPair::same_node);
  EXPECT_EQ(proofs[0].outcome, Outcome::works);
  EXPECT_THAT(proofs[0].sizes, ElementsAre(8, 64, 4096));
  EXPECT_EQ(proofs[0].key, "0123456789abcdef");
  EXPECT_THAT(proofs[0].ingredients, ElementsAre("MPI: none"));
  EXPECT_EQ(proofs[0].when.size(), now_in_utc().size());
}

TEST_F(ProbeJob, NamesTheSignalAndTheSize) {
  program("[ $bytes = 64 ] && kill -11 $$");
  const PathResult result = only_result();
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.signal, 11);
  EXPECT_EQ(result.how,
            "a rank was ended by signal 11 (Segmentation fault), while sending 64 bytes");
  EXPECT_THAT(result.tried, ElementsAre(8, 64));
  EXPECT_EQ(calls(), 2) << "the size that crashed is tried alone";
  const std::vector<Proof> proofs = probe::proofs_of(result, {});
  ASSERT_EQ(proofs.size(), 1U);
  EXPECT_EQ(proofs[0].signal, 11);
  EXPECT_EQ(proofs[0].outcome, Outcome::failed);
}

TEST_F(ProbeJob, NamesTheRankIfTheLauncherDoes) {
  probes_.launcher = {LauncherKind::open_mpi, folder_.put_script("mpirun", R"(
while [ "$1" != )" + folder_ / "halocline" + R"( ]; do shift; done
"$@" || printf 'mpirun noticed that process rank 1 with PID 7 on node vm exited on\nsignal 6 (Aborted).\n' >&2
exit 1
)")};
  program("kill -6 $$");
  const PathResult result = only_result();
  EXPECT_EQ(result.how, "rank 1 was ended by signal 6 (Aborted), while sending 8 bytes");
  EXPECT_EQ(result.signal, 6);
}

TEST_F(ProbeJob, ReadsHydrasWordsForASignal) {
  probes_.launcher.path = folder_.put_script("hydra", R"(
shift 2
"$@" || echo 'YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Bus error (signal 7)'
exit 1
)");
  program("kill -7 $$");
  EXPECT_EQ(only_result().signal, 7);
}

TEST_F(ProbeJob, SaysIfAMessageArrivesAlone) {
  program("[ $bytes = 64 ] && [ \"$7\" != 64 ] && kill -11 $$");
  EXPECT_THAT(only_result().how, HasSubstr("; the same message alone arrived"));
  program("[ $bytes = 64 ] && kill -11 $$");
  EXPECT_THAT(only_result().how, Not(HasSubstr("the same message alone")));
}

TEST_F(ProbeJob, GoesOnWithTheOtherMemoryAfterACrash) {
  program("[ $path = gpu_aware:device ] && kill -11 $$");
  wanted_paths_.paths = {on_device, on_managed};
  const std::vector<PathResult> all = results();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].outcome, Outcome::failed);
  EXPECT_EQ(all[1].path, on_managed);
  EXPECT_EQ(all[1].outcome, Outcome::works);
  EXPECT_EQ(calls(), 2);
}

TEST_F(ProbeJob, LetsRanksWaitForEachOtherForHalfOfTheLimit) {
  program("");
  for (const auto& [limit, wait] : {std::pair(20s, 10), std::pair(2s, 4)}) {
    probes_.time_limit = limit;
    std::filesystem::remove(folder_ / "calls");
    results();
    EXPECT_THAT(content_of(folder_ / "calls"),
                testing::EndsWith(fmt::format(" --wait-limit {}\n", wait)))
        << "too short a limit is to end them itself";
  }
}

TEST_F(ProbeJob, EndsAHang) {
  program("[ $bytes = 4096 ] && sleep 60");
  probes_.time_limit = 4s;
  const auto start = std::chrono::steady_clock::now();
  const PathResult result = only_result();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.how, "timed out after 4 s, while sending 4096 bytes");
  EXPECT_EQ(calls(), 1) << "nobody waits twice";
}

TEST_F(ProbeJob, TellsAWrongByte) {
  program(
      R"([ $bytes = 64 ] && { decide wrong 'byte 17 of 64 from rank 0 to rank 1 did not arrive as sent'; bytes=stop; break; })");
  const PathResult result = only_result();
  EXPECT_EQ(result.outcome, Outcome::wrong);
  EXPECT_EQ(result.how, "byte 17 of 64 from rank 0 to rank 1 did not arrive as sent");
  EXPECT_THAT(result.tried, ElementsAre(8, 64));
}

TEST_F(ProbeJob, TellsAnErrorOfMpi) {
  program(R"(decide failed 'rank 1: MPI_Startall: invalid buffer'; exit 4)");
  EXPECT_EQ(only_result().outcome, Outcome::failed);
  EXPECT_EQ(only_result().how, "rank 1: MPI_Startall: invalid buffer");
}

TEST_F(ProbeJob, DoesNotTrustAProbeThatCrashesAtItsEnd) {
  program("[ $bytes = 4096 ] && { say arrived ', \"bytes\": 4096, \"us\": 1'; kill -11 $$; }");
  const PathResult result = only_result();
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_THAT(result.how, HasSubstr("after 4096 bytes"));
}

TEST_F(ProbeJob, DoesNotTrustAProbeThatLeavesSizesOut) {
  program(R"([ $bytes = 64 ] && { echo 'halocline-probe: {"ends": true}'; exit 0; })");
  EXPECT_EQ(only_result().outcome, Outcome::failed);
}

TEST_F(ProbeJob, MakesNoProofOfWhatCouldNotBeTried) {
  program("");
  probes_.launcher.path = folder_ / "no-such-launcher";
  PathResult result = only_result();
  EXPECT_EQ(result.outcome, Outcome::untried);
  EXPECT_THAT(probe::proofs_of(result, {}), IsEmpty());
  EXPECT_THAT(result.how, HasSubstr("cannot start '" + folder_ / "no-such-launcher"));

  probes_.launcher.path =
      folder_.put_script("broken", "echo ------- >&2; echo 'no slots today' >&2; exit 1\n");
  result = only_result();
  EXPECT_EQ(result.outcome, Outcome::untried);
  EXPECT_THAT(result.how,
              AllOf(HasSubstr("ended with exit code 1"), HasSubstr("its output: no slots today"),
                    HasSubstr("before anything was sent")));

  probes_.launcher.path = folder_.put_script("slow", "sleep 60\n");
  probes_.time_limit = 500ms;
  result = only_result();
  EXPECT_EQ(result.outcome, Outcome::untried);
  EXPECT_TRUE(result.out_of_time);
  EXPECT_THAT(result.how, HasSubstr("the time limit of 0.5 s was too short before anything"));
}

TEST_F(ProbeJob, MakesNoProofOfAProbeThatCrashesBeforeItSends) {
  probes_.program = folder_.put_script(
      "halocline",
      "echo 'halocline-probe: {\"pairs\": {\"path\": \"gpu_aware:device\", \"kinds\": "
      "[\"same-node\"]}}'; echo 'Hello' >&2; echo 'halocline: rank 0: the GPU is gone' >&2; "
      "kill -11 $$\n");
  const PathResult result = only_result();
  EXPECT_EQ(result.outcome, Outcome::untried);
  EXPECT_THAT(probe::proofs_of(result, {}), IsEmpty());
  EXPECT_EQ(result.how, "rank 0: the GPU is gone before anything was sent");
}

TEST_F(ProbeJob, MakesNoProofOfMemoryThatIsNotThere) {
  program(
      "[ $path = gpu_aware:managed ] && { decide unavailable 'there is none'; bytes=stop; break; "
      "}");
  wanted_paths_.paths = {on_device, on_managed};
  const std::vector<PathResult> all = results();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].outcome, Outcome::works);
  EXPECT_EQ(all[1].outcome, Outcome::unavailable);
  EXPECT_EQ(all[1].how, "there is none");
  EXPECT_THAT(probe::proofs_of(all[1], {}), IsEmpty());
}

TEST_F(ProbeJob, RunsWithoutTheLaunchersVariablesButWithTheUsers) {
  const auto variables_of_job = [&](const Variables& ours) {
    for (const auto& [name, value] : ours) ::setenv(name.c_str(), value.c_str(), 1);
    program("", "env >'" + folder_ / "env" + "'\n");
    results();
    for (const auto& [name, value] : ours) ::unsetenv(name.c_str());
    return content_of(folder_ / "env");
  };
  const Variables ours{{"OMPI_MCA_pml", "ucx"}, {"OMPI_MCA_rmaps_base_mapping_policy", "node"}};
  EXPECT_THAT(variables_of_job(ours), HasSubstr("OMPI_MCA_rmaps_base_mapping_policy=node\n"))
      << "no launcher has set it";
  Variables in_rank = ours;
  in_rank.insert({{"OMPI_COMM_WORLD_RANK", "0"}, {"PMI_FD", "6"}});
  const std::string env = variables_of_job(in_rank);
  EXPECT_THAT(env, Not(HasSubstr("OMPI_MCA_rmaps")));
  EXPECT_THAT(env, Not(HasSubstr("OMPI_COMM_WORLD_RANK")));
  EXPECT_THAT(env, Not(HasSubstr("PMI_FD")));
  EXPECT_THAT(env, HasSubstr("OMPI_MCA_pml=ucx\n"));
  EXPECT_THAT(env, HasSubstr("HALOCLINE_LAUNCHED=2\n"));
}

TEST_F(ProbeJob, TellsABadEndBehindTheLastWordApart) {
  probes_.time_limit = 4s;
  for (const auto& [last, how] :
       {std::pair("sleep 100", "timed out after 4 s"), std::pair("kill -9 $$", "signal 9"),
        std::pair("echo 'halocline: rank 1: MPI_Finalize has not returned' >&2; exit 4",
                  "rank 1: MPI_Finalize has not returned"),
        std::pair("exit 1", "the ranks ended with exit code 1")}) {
    bad_ends_.clear();
    program("", last);
    EXPECT_EQ(only_result().outcome, Outcome::works) << last;
    EXPECT_THAT(bad_ends_, ElementsAre(HasSubstr(how)));
  }
}

// ------------------------------------------------------------------------------------- ensure

class EnsureProofs : public ProbeJob {
 protected:
  EnsureProofs() {
    wanted_.file = {folder_ / "proofs.json", proof::ProofsFile::Place::named};
    wanted_.pairs = {GpuPair::same_node};
    wanted_.paths = {on_device};
    wanted_.time_limit = 10s;
    wanted_.on_start = [this] { ++started_; };
    variables_[launcher_variable] = probes_.launcher.path;
    for (const auto& [name, value] : current_variables())
      if (name == "PATH") variables_[name] = value;
  }

  void program(const std::string& step) {
    ProbeJob::program(step);
    wanted_.program = probes_.program;
  }

  proof::ProofsAtHand ensure() { return probe::ensure_proofs(wanted_, variables_); }
  std::optional<Proof> found(const proof::ProofsAtHand& proofs, GpuPair pair = GpuPair::same_node) {
    return proof::find(proofs.proofs, {.pair = pair, .memory = Memory::device}, proofs.key.hash);
  }

  probe::ProofsWanted wanted_;
  Variables variables_;
  int started_ = 0;
};

TEST_F(EnsureProofs, MakesThemOnceAndKeepsThem) {
  program("");
  for (int time = 0; time < 2; ++time) {
    const proof::ProofsAtHand proofs = ensure();
    ASSERT_TRUE(found(proofs));
    EXPECT_EQ(found(proofs)->outcome, Outcome::works);
    EXPECT_THAT(found(proofs)->sizes,
                testing::ElementsAreArray(std::vector<std::int64_t>{8, 64, 4096}));
    EXPECT_THAT(proofs.missing, IsEmpty());
    EXPECT_THAT(proofs.notes, IsEmpty());
  }
  EXPECT_EQ(calls(), 1);
  EXPECT_EQ(started_, 1);
}

TEST_F(EnsureProofs, RemembersAFailureToo) {
  program("kill -11 $$");
  EXPECT_EQ(found(ensure())->outcome, Outcome::failed);
  EXPECT_EQ(found(ensure())->outcome, Outcome::failed);
  EXPECT_EQ(calls(), 1);
}

TEST_F(EnsureProofs, MakesThemAnewUnderOtherSettings) {
  program("");
  ensure();
  variables_["UCX_TLS"] = "^cuda_ipc";
  const proof::ProofsAtHand proofs = ensure();
  EXPECT_TRUE(found(proofs));
  EXPECT_EQ(proofs.proofs.size(), 2U);
  EXPECT_EQ(calls(), 2);
}

TEST_F(EnsureProofs, MakesWhatIsMissingOnly) {
  program("");
  ensure();
  wanted_.paths = {on_device, on_managed};
  EXPECT_THAT(ensure().missing, IsEmpty());
  EXPECT_THAT(
      content_of(folder_ / "calls"),
      ContainsRegex("--paths gpu_aware:device --[^\n]*\n[^\n]*--paths gpu_aware:managed --"));
}

TEST_F(EnsureProofs, WorksWithoutAPlaceToKeepThem) {
  program("");
  wanted_.file = {};
  EXPECT_TRUE(found(ensure()));
  wanted_.file = {folder_ / "no/such/p.json", proof::ProofsFile::Place::named};
  const proof::ProofsAtHand proofs = ensure();
  EXPECT_TRUE(found(proofs));
  EXPECT_THAT(proofs.notes, ElementsAre(HasSubstr("were not saved")));
}

TEST_F(EnsureProofs, SaysWhatIsMissingAndWhy) {
  program("");
  wanted_.pairs = {GpuPair::same_gpu, GpuPair::other_node};
  proof::ProofsAtHand proofs = ensure();
  EXPECT_THAT(
      proofs.missing,
      ElementsAre("gpu_aware is not proved for same-gpu pairs: could not be tried: the two ranks "
                  "were a same-node pair",
                  HasSubstr("other-node pairs: ")));
  EXPECT_TRUE(found(proofs)) << "what was proved by the way is not lost";

  wanted_.pairs = {GpuPair::same_node};
  variables_[launcher_variable] = folder_ / "no-such-launcher";
  variables_["UCX_TLS"] = "all";
  proofs = ensure();
  EXPECT_FALSE(found(proofs));
  EXPECT_THAT(proofs.missing, ElementsAre(HasSubstr("no such program")));
}

TEST_F(EnsureProofs, CountsInWhatTheLaunchersArgumentsSet) {
  program("");
  const bool is_open_mpi = comm::family() == MpiFamily::open_mpi;
  const std::string launcher =
      folder_.put_script(is_open_mpi ? "mpirun.openmpi" : "mpiexec.hydra",
                         "while [ \"${1##*/}\" != halocline ]; do shift; done; exec \"$@\"\n");
  Variables rank = variables_;
  rank.erase(launcher_variable);
  rank[is_open_mpi ? "OMPI_MCA_pml" : "UCX_TLS"] = "all";
  variables_[launcher_variable] =
      launcher + (is_open_mpi ? " --mca pml all" : " -genv UCX_TLS all");
  ensure();
  EXPECT_TRUE(found(proof::proofs_at_hand(wanted_.file, rank)));
  // A rank of somebody else's launcher does not have them, and neither have its probe jobs.
  variables_["PMI_RANK"] = "0";
  variables_["PMI_SIZE"] = "2";
  ensure();
  rank.erase(is_open_mpi ? "OMPI_MCA_pml" : "UCX_TLS");
  EXPECT_TRUE(found(proof::proofs_at_hand(wanted_.file, rank)));
  EXPECT_EQ(calls(), 2);
}

TEST_F(EnsureProofs, TellsTheProbeWhichGpus) {
  program("");
  ensure();
  wanted_.pairs = {GpuPair::same_gpu};
  ensure();
  EXPECT_THAT(content_of(folder_ / "calls"),
              ContainsRegex("--gpus as-in-runs --untimed[^\n]*\n[^\n]*--gpus first --untimed"));
}

TEST_F(EnsureProofs, StartsNothingFromRanksThatMayNot) {
  program("");
  for (const Variables& rank :
       {Variables{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}},
        Variables{{launched_variable, "2"}, {"OMPI_COMM_WORLD_RANK", "0"}},
        Variables{{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}}}) {
    Variables variables = variables_;
    variables.insert(rank.begin(), rank.end());
    const proof::ProofsAtHand proofs = probe::ensure_proofs(wanted_, variables);
    EXPECT_THAT(proofs.proofs, IsEmpty());
    EXPECT_EQ(proofs.missing.size(), rank.contains("SLURM_STEP_ID") ? 1U : 0U);
  }
  EXPECT_EQ(calls(), 0);
}

TEST(StandOf, TellsWhoMakesProofs) {
  EXPECT_EQ(probe::proof_role({}), ProofRole::maker);
  EXPECT_EQ(probe::proof_role({{"SLURM_JOB_ID", "17"}, {"SLURM_PROCID", "0"}}), ProofRole::maker);
  const auto ompi = [](const char* rank) {
    return probe::proof_role({{"OMPI_COMM_WORLD_RANK", rank}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  };
  EXPECT_EQ(ompi("0"), ProofRole::maker);
  EXPECT_EQ(ompi("3"), ProofRole::other_rank);
  EXPECT_EQ(probe::proof_role({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), ProofRole::maker);
  EXPECT_EQ(probe::proof_role({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}), ProofRole::other_rank);
  EXPECT_EQ(probe::proof_role({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {launched_variable, "2"}}),
            ProofRole::ours);
  EXPECT_EQ(probe::proof_role({{"PALS_RANKID", "0"}}), ProofRole::no_probe_jobs);
  EXPECT_EQ(probe::proof_role({{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "2"}}),
            ProofRole::no_probe_jobs);
  EXPECT_EQ(probe::proof_role({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}}),
            ProofRole::no_probe_jobs);
}

}  // namespace
}  // namespace halocline::test
