// SPDX-License-Identifier: Apache-2.0
// Siblings made of shell scripts: one stands for a launcher, one for a halocline.

#include <chrono>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>

#include "base/utc.hpp"
#include "comm/collectives.hpp"
#include "launch/launched.hpp"
#include "probe/ensure.hpp"
#include "probe/probe_job.hpp"
#include "probe/probe_report.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

using namespace std::chrono_literals;
using proof::GpuPair;
using proof::Outcome;
using proof::ProbeJobAnswer;
using proof::ProbeJobRequest;
using proof::ProbeReport;
using proof::Proof;
using proof::Stand;
using proof::Step;
using State = Step::State;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// ------------------------------------------------------------------------------- probe report

TEST(ProbeReport, IsReadAsItIsSaid) {
  const std::string said = proof::begin_line() + "\n" + proof::pair_line(GpuPair::same_gpu) + "\n" +
                           proof::step_line({Memory::device, 8}) + "\n" +
                           proof::step_line({Memory::device, 8, State::proved}) + "\n" +
                           proof::step_line({Memory::device, 4096}) + "\n" +
                           proof::step_line({Memory::device, 4096, State::wrong, "byte 17\nof"}) +
                           "\n" + proof::unavailable_line(Memory::managed, "no such memory") +
                           "\n" + proof::end_line() + "\n";
  const ProbeReport report = proof::read_probe(said);
  EXPECT_TRUE(report.began);
  EXPECT_TRUE(report.ended);
  EXPECT_THAT(report.pairs, ElementsAre(GpuPair::same_gpu));
  EXPECT_THAT(report.steps, ElementsAre(Step{Memory::device, 8, State::proved},
                                        Step{Memory::device, 4096, State::wrong, "byte 17 of"}));
  EXPECT_THAT(report.unavailable,
              ElementsAre(testing::Pair(Memory::managed, std::string("no such memory"))));
}

TEST(ProbeReport, TellsWhereACrashCame) {
  const ProbeReport report = proof::read_probe(
      "halocline-probe: begins\nhalocline-probe: pair same-node\n"
      "halocline-probe: trying device 8\nhalocline-probe: proved device 8\n"
      "halocline-probe: trying device 65536\nhalocline-probe: pro");
  EXPECT_FALSE(report.ended);
  EXPECT_THAT(report.steps, ElementsAre(Step{Memory::device, 8, State::proved},
                                        Step{Memory::device, 65536, State::trying}));
}

TEST(ProbeReport, PassesOverWhatOthersSay) {
  const ProbeReport report = proof::read_probe(
      "Welcome to node 7\n[1,0]<stdout>:halocline-probe: begins\r\n"
      "trying device 8\nhalocline-probe: trying paper 8\nhalocline-probe: trying device many\n"
      "halocline-probe: pair of-shoes\nhalocline-probe: sings\nhalocline-probe:\n");
  EXPECT_TRUE(report.began);
  EXPECT_THAT(report.steps, IsEmpty());
  EXPECT_THAT(report.pairs, IsEmpty());
  EXPECT_FALSE(proof::read_probe("").began);
}

TEST(ProbeReport, TakesTheFirstOfSeveralRanksThatFail) {
  const ProbeReport report = proof::read_probe(
      "halocline-probe: trying device 8\nhalocline-probe: failed device 8 first\n"
      "halocline-probe: failed device 8 second\n");
  EXPECT_THAT(report.steps, ElementsAre(Step{Memory::device, 8, State::failed, "first"}));
}

// ------------------------------------------------------------------------------------ probe job

class ProbeJob : public testing::Test {
 protected:
  ProbeJob() {
    // Called as: launcher -n 2 program arguments...
    request_.launcher = {LauncherKind::other, folder_.put_script("launcher", R"(
shift 2
exec "$@"
)")};
    request_.key = {"0123456789abcdef", {"MPI: none"}};
    request_.memories = {Memory::device};
    request_.bytes = {8, 64, 4096};
    request_.time_limit = 10s;
  }

  /// Sets the program: a probe in which `step` decides how the message of $memory and $bytes ends.
  void program(const std::string& step, const std::string& last = "") {
    request_.program = folder_.put_script("halocline", R"(
echo "$@" >>")" + folder_ / "calls" + R"("
say() { echo "halocline-probe: $*"; }
[ "$1" = prove-gpu-aware ] && [ "$2" = --memory ] && [ "$4" = --bytes ] || exit 2
say begins
say pair same-node
for memory in $(echo $3 | tr , ' '); do
  for bytes in $(echo $5 | tr , ' '); do
    say trying $memory $bytes
)" + step + R"(
    say proved $memory $bytes
  done
done
say ends
)" + last);
  }

  ProbeJobAnswer prove() { return proof::prove_in_probe_job(request_); }
  Proof only_proof() {
    const ProbeJobAnswer answer = prove();
    EXPECT_THAT(answer.not_tried, IsEmpty());
    EXPECT_EQ(answer.proofs.size(), 1U);
    return answer.proofs.empty() ? Proof{} : answer.proofs[0];
  }
  int calls() const {
    std::ifstream file(folder_ / "calls");
    std::string line;
    int count = 0;
    while (std::getline(file, line)) ++count;
    return count;
  }

  TemporaryFolder folder_;
  ProbeJobRequest request_;
};

TEST_F(ProbeJob, ProvesWhatWorksInOneJob) {
  program("");
  request_.memories = {Memory::device, Memory::managed};
  const ProbeJobAnswer answer = prove();
  EXPECT_THAT(answer.not_tried, IsEmpty());
  ASSERT_EQ(answer.proofs.size(), 2U);
  EXPECT_EQ(answer.proofs[0].memory, Memory::device);
  EXPECT_EQ(answer.proofs[1].memory, Memory::managed);
  for (const Proof& proof : answer.proofs) {
    EXPECT_EQ(proof.outcome, Outcome::works);
    EXPECT_EQ(proof.pair, GpuPair::same_node);
    EXPECT_EQ(proof.path, "gpu_aware");
    EXPECT_EQ(proof.how, "");
    EXPECT_THAT(proof.sizes, ElementsAre(8, 64, 4096));
    EXPECT_EQ(proof.key, "0123456789abcdef");
    EXPECT_THAT(proof.ingredients, ElementsAre("MPI: none"));
    EXPECT_EQ(proof.when.size(), now_in_utc().size());
  }
  EXPECT_EQ(calls(), 1);
}

TEST_F(ProbeJob, NamesTheSignalAndTheSize) {
  program("[ $bytes = 64 ] && kill -11 $$");
  const Proof proof = only_proof();
  EXPECT_EQ(proof.outcome, Outcome::fails);
  EXPECT_EQ(proof.how,
            "a rank was ended by signal 11 (Segmentation fault) while sending 64 bytes from device "
            "memory");
  EXPECT_THAT(proof.sizes, ElementsAre(8, 64));
  EXPECT_EQ(calls(), 2) << "the size that crashed is tried alone";
}

TEST_F(ProbeJob, NamesTheRankIfTheLauncherDoes) {
  request_.launcher = {LauncherKind::open_mpi, folder_.put_script("mpirun", R"(
while [ "$1" != )" + folder_ / "halocline" + R"( ]; do shift; done
"$@" || printf 'mpirun noticed that process rank 1 with PID 7 on node vm exited on\nsignal 6 (Aborted).\n' >&2
exit 1
)")};
  program("kill -6 $$");
  EXPECT_EQ(only_proof().how,
            "rank 1 was ended by signal 6 (Aborted) while sending 8 bytes from device memory");
}

TEST_F(ProbeJob, ReadsHydrasWordsForASignal) {
  request_.launcher.path = folder_.put_script("hydra", R"(
shift 2
"$@" || echo 'YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Bus error (signal 7)'
exit 1
)");
  program("kill -7 $$");
  EXPECT_THAT(only_proof().how,
              HasSubstr("a rank was ended by signal 7 (Bus error) while sending 8"));
}

TEST_F(ProbeJob, SaysIfAMessageArrivesAlone) {
  program("[ $bytes = 64 ] && [ $5 != 64 ] && kill -11 $$");
  EXPECT_THAT(only_proof().how, HasSubstr("; the same message alone arrived"));
  program("[ $bytes = 8 ] && kill -11 $$");
  EXPECT_THAT(only_proof().how, Not(HasSubstr("the same message alone")));
}

TEST_F(ProbeJob, GoesOnWithTheOtherMemoryAfterACrash) {
  program("[ $memory = device ] && kill -11 $$");
  request_.memories = {Memory::device, Memory::managed};
  const ProbeJobAnswer answer = prove();
  ASSERT_EQ(answer.proofs.size(), 2U);
  EXPECT_EQ(answer.proofs[0].outcome, Outcome::fails);
  EXPECT_EQ(answer.proofs[1].memory, Memory::managed);
  EXPECT_EQ(answer.proofs[1].outcome, Outcome::works);
  EXPECT_EQ(calls(), 2);
}

TEST_F(ProbeJob, EndsAHang) {
  program("[ $bytes = 4096 ] && sleep 60");
  request_.time_limit = 3s;
  const auto start = std::chrono::steady_clock::now();
  const Proof proof = only_proof();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  EXPECT_EQ(proof.outcome, Outcome::fails);
  EXPECT_EQ(proof.how, "timed out after 3 s while sending 4096 bytes from device memory");
  EXPECT_EQ(calls(), 1) << "nobody waits twice";
}

TEST_F(ProbeJob, TellsAWrongByte) {
  program(
      R"([ $bytes = 64 ] && { say wrong $memory $bytes byte 17 of 64 from rank 0 to rank 1 did not arrive as sent; break; })");
  const Proof proof = only_proof();
  EXPECT_EQ(proof.outcome, Outcome::fails);
  EXPECT_EQ(proof.how,
            "byte 17 of 64 from rank 0 to rank 1 did not arrive as sent in device memory");
  EXPECT_THAT(proof.sizes, ElementsAre(8, 64));
}

TEST_F(ProbeJob, TellsAnErrorOfMpi) {
  program(
      R"(say failed $memory $bytes "rank 1: MPI_Startall: invalid buffer; that rank is stopped"; exit 4)");
  EXPECT_EQ(only_proof().how,
            "rank 1: MPI_Startall: invalid buffer while sending 8 bytes from device memory");
}

TEST_F(ProbeJob, DoesNotTrustAProbeThatCrashesAtItsEnd) {
  program("[ $bytes = 4096 ] && { say proved $memory $bytes; kill -11 $$; }");
  const Proof proof = only_proof();
  EXPECT_EQ(proof.outcome, Outcome::fails);
  EXPECT_THAT(proof.how, HasSubstr("after sending 4096 bytes from device memory"));
}

TEST_F(ProbeJob, DoesNotTrustAProbeThatLeavesSizesOut) {
  program("[ $bytes = 64 ] && { say proved $memory $bytes; say ends; exit 0; }");
  EXPECT_EQ(only_proof().outcome, Outcome::fails);
}

TEST_F(ProbeJob, MakesNoProofOfWhatCouldNotBeTried) {
  program("");
  request_.launcher.path = folder_ / "no-such-launcher";
  ProbeJobAnswer answer = prove();
  EXPECT_THAT(answer.proofs, IsEmpty());
  EXPECT_THAT(answer.not_tried, ElementsAre(HasSubstr("device memory could not be tried: cannot "
                                                      "start '" +
                                                      folder_ / "no-such-launcher")));

  request_.launcher.path =
      folder_.put_script("broken", "echo ------- >&2; echo 'no slots today' >&2; exit 1\n");
  answer = prove();
  EXPECT_THAT(answer.proofs, IsEmpty());
  EXPECT_THAT(answer.not_tried,
              ElementsAre(AllOf(HasSubstr("ended with exit code 1 before anything was sent"),
                                HasSubstr("its output: no slots today"))));

  request_.launcher.path = folder_.put_script("slow", "sleep 60\n");
  request_.time_limit = 500ms;
  answer = prove();
  EXPECT_THAT(answer.proofs, IsEmpty());
  EXPECT_THAT(answer.not_tried, ElementsAre(HasSubstr("timed out after 0.5 s before anything")));
}

TEST_F(ProbeJob, MakesNoProofOfAProbeThatCrashesBeforeItSends) {
  request_.program =
      folder_.put_script("halocline",
                         "echo 'halocline-probe: begins'; echo 'Hello' >&2; "
                         "echo 'halocline: rank 0: the GPU is gone' >&2; kill -11 $$\n");
  const ProbeJobAnswer answer = prove();
  EXPECT_THAT(answer.proofs, IsEmpty());
  EXPECT_THAT(answer.not_tried,
              ElementsAre(AllOf(HasSubstr("signal 11"), HasSubstr("before anything was sent"),
                                HasSubstr("halocline: rank 0: the GPU is gone"))));
}

TEST_F(ProbeJob, MakesNoProofOfMemoryThatIsNotThere) {
  program("[ $memory = managed ] && { say unavailable managed there is none; break; }");
  request_.memories = {Memory::device, Memory::managed};
  const ProbeJobAnswer answer = prove();
  ASSERT_EQ(answer.proofs.size(), 1U);
  EXPECT_EQ(answer.proofs[0].outcome, Outcome::works);
  EXPECT_THAT(answer.not_tried, ElementsAre("managed memory could not be tried: there is none"));
}

TEST_F(ProbeJob, RunsWithoutTheLaunchersVariablesButWithTheUsers) {
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  ::setenv("PMI_FD", "6", 1);
  ::setenv("OMPI_MCA_pml", "ucx", 1);
  program("", "env >'" + folder_ / "env" + "'\n");
  prove();
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  ::unsetenv("PMI_FD");
  ::unsetenv("OMPI_MCA_pml");
  std::ifstream file(folder_ / "env");
  const std::string env{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(env, Not(HasSubstr("OMPI_COMM_WORLD_RANK")));
  EXPECT_THAT(env, Not(HasSubstr("PMI_FD")));
  EXPECT_THAT(env, HasSubstr("OMPI_MCA_pml=ucx\n"));
  EXPECT_THAT(env, HasSubstr("HALOCLINE_LAUNCHED=2\n"));
}

TEST_F(ProbeJob, TellsABadEndBehindTheLastWordApart) {
  request_.time_limit = 2s;
  for (const auto& [last, how] :
       {std::pair("sleep 100", "timed out after 2 s"), std::pair("kill -9 $$", "signal 9"),
        std::pair("echo 'halocline: rank 1: MPI_Finalize has not returned' >&2; exit 4",
                  "; its output: halocline: rank 1: MPI_Finalize has not returned")}) {
    program("", last);
    const ProbeJobAnswer answer = prove();
    ASSERT_EQ(answer.proofs.size(), 1U) << last;
    EXPECT_EQ(answer.proofs[0].outcome, Outcome::works) << last;
    EXPECT_THAT(answer.bad_ends, ElementsAre(HasSubstr(how)));
  }
  program("", "exit 1");
  EXPECT_THAT(prove().bad_ends, IsEmpty()) << "that is what the probe says of a wrong byte";
}

// ------------------------------------------------------------------------------------- ensure

class EnsureProofs : public ProbeJob {
 protected:
  EnsureProofs() {
    wanted_.file = {folder_ / "proofs.json", proof::ProofsFile::Place::named};
    wanted_.pairs = {GpuPair::same_node};
    wanted_.memories = {Memory::device};
    wanted_.time_limit = 10s;
    wanted_.on_start = [this] { ++started_; };
    variables_[launcher_variable] = request_.launcher.path;
    for (const auto& [name, value] : current_variables())
      if (name == "PATH") variables_[name] = value;
  }

  void program(const std::string& step) {
    // The sizes are the probe's own here.
    ProbeJob::program(step);
    wanted_.program = request_.program;
  }

  proof::ProofsAtHand ensure() { return proof::ensure_proofs(wanted_, variables_); }
  std::optional<Proof> found(const proof::ProofsAtHand& proofs, GpuPair pair = GpuPair::same_node) {
    return proof::find(proofs.proofs, pair, Memory::device, proofs.key.hash);
  }

  proof::ProofsWanted wanted_;
  Variables variables_;
  int started_ = 0;
};

TEST_F(EnsureProofs, MakesThemOnceAndKeepsThem) {
  program("");
  for (int time = 0; time < 2; ++time) {
    const proof::ProofsAtHand proofs = ensure();
    ASSERT_TRUE(found(proofs));
    EXPECT_EQ(found(proofs)->outcome, Outcome::works);
    EXPECT_THAT(found(proofs)->sizes, testing::ElementsAreArray(proof::sizes_to_probe()));
    EXPECT_THAT(proofs.missing, IsEmpty());
    EXPECT_THAT(proofs.notes, IsEmpty());
  }
  EXPECT_EQ(calls(), 1);
  EXPECT_EQ(started_, 1);
}

TEST_F(EnsureProofs, RemembersAFailureToo) {
  program("kill -11 $$");
  EXPECT_EQ(found(ensure())->outcome, Outcome::fails);
  EXPECT_EQ(found(ensure())->outcome, Outcome::fails);
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
  wanted_.memories = {Memory::device, Memory::managed};
  EXPECT_THAT(ensure().missing, IsEmpty());
  std::ifstream file(folder_ / "calls");
  std::string first, second;
  std::getline(file, first);
  std::getline(file, second);
  EXPECT_THAT(first, HasSubstr("--memory device --bytes 8,512,"));
  EXPECT_THAT(second, HasSubstr("--memory managed --bytes 8,512,"));
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
  EXPECT_THAT(proofs.missing,
              ElementsAre("same-gpu pairs: could not be tried: the two ranks were a same-node pair",
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
  std::ifstream file(folder_ / "calls");
  std::string first, second;
  std::getline(file, first);
  std::getline(file, second);
  EXPECT_THAT(first, testing::EndsWith("--gpus in-turn --pairs all"));
  EXPECT_THAT(second, testing::EndsWith("--gpus first --pairs all"));
}

TEST_F(EnsureProofs, StartsNothingFromRanksThatMayNot) {
  program("");
  for (const Variables& rank :
       {Variables{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}},
        Variables{{launched_variable, "2"}, {"OMPI_COMM_WORLD_RANK", "0"}},
        Variables{{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}}}) {
    Variables variables = variables_;
    variables.insert(rank.begin(), rank.end());
    const proof::ProofsAtHand proofs = proof::ensure_proofs(wanted_, variables);
    EXPECT_THAT(proofs.proofs, IsEmpty());
    EXPECT_EQ(proofs.missing.size(), rank.contains("SLURM_STEP_ID") ? 1U : 0U);
  }
  EXPECT_EQ(calls(), 0);
}

TEST(StandOf, TellsWhoMakesProofs) {
  EXPECT_EQ(proof::stand_of({}), Stand::maker);
  EXPECT_EQ(proof::stand_of({{"SLURM_JOB_ID", "17"}, {"SLURM_PROCID", "0"}}), Stand::maker);
  const auto ompi = [](const char* rank) {
    return proof::stand_of({{"OMPI_COMM_WORLD_RANK", rank}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  };
  EXPECT_EQ(ompi("0"), Stand::maker);
  EXPECT_EQ(ompi("3"), Stand::other_rank);
  EXPECT_EQ(proof::stand_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), Stand::maker);
  EXPECT_EQ(proof::stand_of({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}), Stand::other_rank);
  EXPECT_EQ(proof::stand_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {launched_variable, "2"}}),
            Stand::ours);
  EXPECT_EQ(proof::stand_of({{"PALS_RANKID", "0"}}), Stand::no_probe_jobs);
  EXPECT_EQ(proof::stand_of({{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "2"}}),
            Stand::no_probe_jobs);
  EXPECT_EQ(proof::stand_of({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}}), Stand::no_probe_jobs);
}

}  // namespace
}  // namespace halocline::test
