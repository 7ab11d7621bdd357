// SPDX-License-Identifier: Apache-2.0
// Lines of ranks are read as they were said, however the job ended.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/fact_lines.hpp"

namespace halocline::test {
namespace {

using namespace doctor;
using testing::ElementsAre;

TEST(DoctorFactLines, FactsAreReadAsTheyAreSaid) {
  const RankSeen rank{.rank = 1,
                      .size = 2,
                      .host = "h",
                      .mpi = "M",
                      .cores = "0-3",
                      .ipc_namespace = "i",
                      .process_namespace = "p",
                      .shm_device = "27"};
  const ProbeFacts facts = read_probe_facts(
      "Welcome\n" + doing_line("starting MPI") + "\n[1,0]<stdout>:" + line_of(rank) + "\n" +
      line_of(mpi::ReportedCapabilities{
          .thread_level = "funneled",
          .takes_gpu = true,
          .settings = {{"pml", "ucx"}},
          .extras = {.partitioned_calls = true, .memory_kinds = {"mpi", "cuda:device"}}}) +
      "\n" + gpus_line("13.0", "13.0", {true, false}) + "\n" + direct_reads_line("not permitted") +
      "\n" +
      line_of(Library{.name = "NCCL",
                      .path = "/x",
                      .version = "2.28.9",
                      .is_off_path = true,
                      .problem = "no",
                      .is_mpis = true,
                      .has_cuda = false,
                      .found_by = "the loader",
                      .others = {{"/y", "2.27.3", "HALOCLINE_NCCL"}}}) +
      "\nhalocline-probe: {\n" + doing_line("loading libucp.so.0") +
      "\nhalocline-probe: {\"ends\":tr");
  ASSERT_EQ(facts.ranks.size(), 1U);
  EXPECT_EQ(facts.ranks[0].cores, "0-3");
  EXPECT_EQ(facts.ranks[0].shm_device, "27");
  EXPECT_EQ(facts.claims_gpu, true);
  EXPECT_THAT(facts.mpi_settings, ElementsAre(testing::Pair("pml", "ucx")));
  EXPECT_EQ(facts.mpi_extras.stream_calls, std::nullopt);
  EXPECT_EQ(facts.mpi_extras.partitioned_calls, true);
  EXPECT_THAT(facts.mpi_extras.memory_kinds, ElementsAre("mpi", "cuda:device"));
  EXPECT_THAT(facts.peer_access, ElementsAre(true, false));
  EXPECT_EQ(facts.direct_reads, false);
  EXPECT_EQ(facts.libraries.at(0).version, "2.28.9");
  EXPECT_TRUE(facts.libraries.at(0).is_off_path);
  EXPECT_EQ(facts.libraries.at(0).problem, "no");
  EXPECT_TRUE(facts.libraries.at(0).is_mpis);
  EXPECT_EQ(facts.libraries.at(0).has_cuda, false);
  EXPECT_EQ(facts.libraries.at(0).found_by, "the loader");
  EXPECT_EQ(facts.libraries.at(0).others.at(0).path, "/y");
  EXPECT_EQ(facts.libraries.at(0).others.at(0).version, "2.27.3");
  EXPECT_EQ(facts.libraries.at(0).others.at(0).found_by, "HALOCLINE_NCCL");
  EXPECT_EQ(facts.doing, "loading libucp.so.0");
}

TEST(DoctorFactLines, NodesOfOneNameAreToldApart) {
  NodeSeen first, second;
  first.host = second.host = "vm";
  second.node = 1;
  const ProbeFacts facts = read_probe_facts(line_of(second) + "\n" + line_of(first) + "\n");
  ASSERT_EQ(facts.nodes.size(), 2U);
  EXPECT_EQ(facts.nodes[0].host, "vm");
  EXPECT_EQ(facts.nodes[1].host, "vm (node 1)");
}

}  // namespace
}  // namespace halocline::test
