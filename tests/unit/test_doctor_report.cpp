// SPDX-License-Identifier: Apache-2.0
// What doctor prints, and what has changed since another report.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>

#include "doctor/changes.hpp"
#include "doctor/report.hpp"
#include "report/render.hpp"
#include "support/evidence.hpp"

namespace halocline::test {
namespace {

using namespace doctor;
using namespace doctor::made_up;
using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string json_of(const Evidence& evidence) {
  Diagnosis diagnosis{.evidence = evidence};
  diagnosis.found = findings(evidence);
  diagnosis.start = recommended_start(evidence, User::ordinary);
  return render_json(report_of(diagnosis, {}));
}

std::string text_of(const Evidence& evidence, FactsFor facts = FactsFor::programs) {
  Diagnosis diagnosis{.evidence = evidence};
  diagnosis.found = findings(evidence);
  diagnosis.start = recommended_start(evidence, User::ordinary);
  return render_text(report_of(diagnosis, {.facts = facts}));
}

TEST(DoctorReport, IsShortWhereAllIsWell) {
  const std::string text = text_of(with_gpus());
  EXPECT_THAT(text, StartsWith("node1: 4 cores, 2 x NVIDIA H200, Open MPI 4.1.6\n\n"
                               "  all paths work\n"));
  EXPECT_THAT(text,
              AllOf(ContainsRegex("a run uses +shared for host memory, peer for device memory\n"),
                    Not(HasSubstr("MPI_Send")), Not(HasSubstr("seen:"))));
}

TEST(DoctorReport, TellsLibrariesAndTheirPartsForCuda) {
  Evidence evidence = with_gpus();
  evidence.facts.ranks.libraries = {{.name = "NVSHMEM", .path = "", .version = ""},
                                    {.name = "NCCL",
                                     .path = "/w/libnccl.so.2",
                                     .version = "2.28.9",
                                     .is_off_path = true,
                                     .found_by = "its Python package",
                                     .others = {{"/lib/libnccl.so.2", "2.27.3", "the loader"}}},
                                    {.name = "UCX",
                                     .path = "/lib/libucp.so.0",
                                     .version = "1.13.1",
                                     .is_mpis = true,
                                     .has_cuda = false},
                                    {.name = "libfabric",
                                     .path = "/lib/libfabric.so.1",
                                     .version = "",
                                     .problem = "cannot be loaded: no such symbol",
                                     .has_cuda = true}};
  EXPECT_THAT(
      json_of(evidence),
      AllOf(HasSubstr("\"NVSHMEM: not found; install"),
            HasSubstr("\"NCCL 2.28.9: /w/libnccl.so.2, found by its Python package, usable by "
                      "other programs only with its folder in LD_LIBRARY_PATH (not taken: "
                      "/lib/libnccl.so.2, 2.27.3, found by the loader)\""),
            ContainsRegex("\"file\": \"/lib/libnccl.so.2\",\\s+\"version\": \"2.27.3\",\\s+"
                          "\"found_by\": \"the loader\",\\s+\"taken\": false"),
            HasSubstr("\"UCX 1.13.1 without its CUDA part: /lib/libucp.so.0, loaded by MPI\""),
            HasSubstr("\"libfabric with its CUDA part: /lib/libfabric.so.1, cannot be loaded: no "
                      "such symbol\"")));
}

TEST(DoctorReport, ShowsWhatIsBetweenGpusAndAdapters) {
  Evidence evidence = with_gpus();
  const char* title = "connections between GPUs and adapters";
  EXPECT_THAT(text_of(evidence, FactsFor::all), Not(HasSubstr(title)));
  for (const int ordinal : {0, 1})
    evidence.facts.ranks.machine[0].visible[static_cast<std::size_t>(ordinal)].near_cores = {
        2 * ordinal, 2 * ordinal + 1};
  evidence.facts.ranks.nodes.push_back({.host = "node1",
                                        .adapters = {"mlx5_0", "mlx5_1"},
                                        .near_adapters = {{0, "mlx5_0", doctor::Nearness::pix},
                                                          {0, "mlx5_1", doctor::Nearness::sys},
                                                          {1, "mlx5_1", doctor::Nearness::node}}});
  EXPECT_THAT(text_of(evidence, FactsFor::all),
              AllOf(HasSubstr(title), ContainsRegex("0 +PIX +SYS +0-1\n"),
                    ContainsRegex("1 +- +NODE +2-3\n")));
  EXPECT_THAT(json_of(evidence), ContainsRegex("\"gpu\": 1,\\s+\"adapter\": \"mlx5_1\",\\s+"
                                               "\"nearness\": \"NODE\""));
}

TEST(DoctorReport, ListsMemoryThatMakesADifference) {
  Evidence evidence = with_collectives();
  for (const char* transport : {"peer", "gpu_aware"}) {
    evidence.paths.push_back(works(transport, Memory::device, 1.5));
    evidence.paths.back().path.allocator = device::Allocator::pool;
  }
  evidence.paths.push_back(ends("mpi", Memory::system, Outcome::unavailable, "no HMM"));
  const std::string text = text_of(evidence);
  EXPECT_THAT(text, ContainsRegex("gpu_aware +pool +same-node.* works"));
  EXPECT_THAT(text, ContainsRegex("MPI_Bcast +device +same-node.* works"));
  EXPECT_THAT(text, AllOf(HasSubstr("all paths work"), HasSubstr("collectives of 2 ranks"),
                          Not(ContainsRegex("peer +pool")), Not(HasSubstr("system"))));
  evidence.paths[6].outcome = Outcome::failed;
  EXPECT_THAT(text_of(evidence), ContainsRegex("peer +pool +same-node.* failed"));
  EXPECT_THAT(json_of(evidence), HasSubstr("no HMM"));
}

TEST(DoctorReport, TellsWhatChangedInCollectives) {
  Evidence now = with_collectives();
  const std::string before = json_of(with_gpus()), then = json_of(now);
  now.collectives[1] = ends(collectives[0], Memory::device, Outcome::failed, "signal 11");
  EXPECT_THAT(changes(then, json_of(now), "f"),
              Contains(Change{"path MPI_Allreduce:device", "works", "failed"}));
  EXPECT_THAT(changes(before, then, "f"),
              Contains(Change{"path MPI_Bcast:device", "nothing", "works"}));
  // As earlier versions have written it.
  std::string old = before;
  const std::size_t at = old.find("\"collectives\"");
  ASSERT_NE(at, std::string::npos);
  old.replace(at + 1, 11, "unheard_of");
  EXPECT_THAT(changes(old, before, "f"), IsEmpty());
}

TEST(DoctorReport, TellsWhatHasBecomeWorse) {
  Evidence now = with_gpus();
  const std::string before = json_of(now);
  now.paths[1].times[0].us *= 2;
  EXPECT_THAT(regressions(before, json_of(now), "f"), IsEmpty()) << "that much may be chance";
  now.paths[1].times[0].us *= 5;
  now.paths[3] = ends("peer", Memory::device, Outcome::unavailable, "invalid handle");
  EXPECT_THAT(regressions(before, json_of(now), "f"),
              testing::UnorderedElementsAre(
                  AllOf(testing::Field(&Finding::severity, Severity::slow),
                        testing::Field(&Finding::what,
                                       HasSubstr("mpi:host has become 10.0 times as slow"))),
                  AllOf(testing::Field(&Finding::severity, Severity::slow),
                        testing::Field(&Finding::what, HasSubstr("peer:device worked once")),
                        testing::Field(&Finding::seen, HasSubstr("invalid handle")))));
  EXPECT_THAT(regressions(json_of(now), before, "f"), IsEmpty()) << "it has become better";
  EXPECT_THROW(regressions("{}", before, "f"), Error);
}

TEST(DoctorReport, NamesChangesInWords) {
  EXPECT_EQ(words_for_change("limits.memlock_bytes"), "limit on locked memory in bytes");
  EXPECT_EQ(words_for_change("settings.UCX_LOG_LEVEL"), "variable UCX_LOG_LEVEL");
  EXPECT_EQ(words_for_change("kernel_driver"), "kernel driver");
  EXPECT_EQ(words_for_change("path mpi:host"), "path mpi:host");
}

TEST(DoctorReport, ShowsTheRanksCores) {
  Evidence evidence = healthy();
  EXPECT_THAT(text_of(evidence), ContainsRegex("ranks ran on +cores 0-3 each\n"));
  evidence.facts.ranks.ranks.back().cores = "2";
  EXPECT_THAT(text_of(evidence), ContainsRegex("ranks ran on +cores 0-3 \\| 2\n"));
}

TEST(DoctorReport, SaysThatPathsWorkBesideNotes) {
  Evidence evidence = healthy();
  evidence.facts.node.load = 9;
  EXPECT_THAT(text_of(evidence), AllOf(HasSubstr("all paths work"), HasSubstr("busy")));
}

TEST(DoctorReport, TellsWhatChanged) {
  Evidence now = with_gpus();
  const std::string before = json_of(now);
  EXPECT_THAT(changes(before, json_of(now), "f"), IsEmpty());
  now.facts.node.mpi = "Open MPI 5.0.11";
  now.paths[1].times[0].us *= 2;
  now.paths[3] = ends("peer", Memory::device, Outcome::unavailable, "invalid handle");
  EXPECT_THAT(
      changes(before, json_of(now), "f"),
      AllOf(Contains(Change{"mpi", "Open MPI 4.1.6", "Open MPI 5.0.11"}),
            Contains(Change{"path peer:device", "works", "unavailable"}),
            Contains(testing::Field(&Change::what, "time of 8 bytes by mpi:host")),
            Contains(testing::Field(&Change::what, StartsWith("finding: kernels cannot store")))));
  EXPECT_THROW(changes("my thesis", before, "f"), Error);
  EXPECT_THROW(changes("{}", before, "f"), Error);
}

}  // namespace
}  // namespace halocline::test
