// SPDX-License-Identifier: Apache-2.0
// What doctor says of several nodes: who differs, who is slow, and who talks to whom in probes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/advice.hpp"
#include "doctor/fact_lines.hpp"
#include "probe/jobs.hpp"
#include "probe/lines.hpp"
#include "probe/ring.hpp"
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
using testing::Pair;
using testing::StartsWith;

TEST(DoctorNodes, GetMoreTimeUnderLoad) {
  using std::chrono::seconds;
  EXPECT_EQ(probe::limit_under(0, 2), seconds(20));
  EXPECT_EQ(probe::limit_under(2, 2), seconds(20));
  EXPECT_EQ(probe::limit_under(8, 2), seconds(80));
  EXPECT_EQ(probe::limit_under(300, 2), seconds(300));
}

TEST(DoctorNodes, AreFineWhenAlike) { EXPECT_THAT(findings(three_nodes()), IsEmpty()); }

TEST(DoctorNodes, OneGpuBehindItsClass) {
  Evidence evidence = three_nodes();
  auto& nodes = evidence.facts.ranks.nodes;
  for (const int gpu : {1, 2, 3})
    for (NodeSeen& node : nodes) node.speeds.push_back({gpu, "NVIDIA H200", 4000, 50});
  nodes[1].speeds[3].copy_gb_per_s = 2360;
  EXPECT_FOUND(
      evidence,
      slow("node n2, GPU 3: 41 % below the median of its class in copies within its memory",
           "2360 GB/s here, 4000 GB/s is typical for NVIDIA H200"));
  nodes[1].speeds[3].name = "NVIDIA L4";
  EXPECT_THAT(findings(evidence), IsEmpty()) << "it is alone in its class";
}

TEST(DoctorNodes, ABusThatIsSlow) {
  Evidence evidence = three_nodes();
  evidence.facts.ranks.nodes[2].speeds[0].host_gb_per_s = 12;
  EXPECT_FOUND(evidence, slow("node n3, GPU 0: 76 % below", "12.0 GB/s here"));
}

TEST(DoctorNodes, AHostThatIsSlow) {
  Evidence evidence = three_nodes();
  evidence.facts.ranks.nodes[0].memory_gb_per_s = 10;
  evidence.facts.ranks.nodes[0].count_us = 2000;
  EXPECT_FOUND(evidence, slow("node n1: 50 % below", "20.0 GB/s is typical"),
               slow("node n1: 50 % below", "500 million/s here"));
}

TEST(DoctorNodes, OfTwoNobodyIsTheOddOne) {
  Evidence evidence = three_nodes();
  auto& ranks = evidence.facts.ranks;
  ranks.nodes.pop_back();
  ranks.links = {{0, 1, 200, 1}};
  ranks.nodes[0].memory_gb_per_s = 1;
  EXPECT_THAT(findings(evidence), IsEmpty());
}

TEST(DoctorNodes, ANetworkThatIsSlowForAll) {
  Evidence evidence = three_nodes();
  auto& links = evidence.facts.ranks.links;
  const auto all = [&](double us, double gb_per_s) {
    for (Link& link : links) link = {link.from, link.to, us, gb_per_s};
  };
  all(60, 0.0117);
  EXPECT_FOUND(evidence, slow("as slow as 100 Mbit/s", "0.0117 GB/s"));
  all(60, 0.00118);
  EXPECT_FOUND(evidence, slow("slower than 100 Mbit/s", "GB/s; 8 bytes: 60.0 us"));
  all(30, 0.117);
  EXPECT_FOUND(evidence, note("as slow as 1 Gbit/s", "0.117 GB/s"));
  all(15, 1.1);
  EXPECT_THAT(findings(evidence), IsEmpty());
  for (NodeSeen& node : evidence.facts.ranks.nodes) node.adapters = {"mlx5_0"};
  EXPECT_FOUND(evidence, slow("though they have mlx5_0", "15.0 us"));
  all(1.5, 24);
  EXPECT_THAT(findings(evidence), IsEmpty());
}

TEST(DoctorNodes, SmallMessagesThatArriveAndLargeOnesThatDoNot) {
  Evidence evidence = three_nodes();
  PathResult& far = evidence.paths.emplace_back(
      ends("MPI_Send", Memory::host, Outcome::failed, "no output for 20 s"));
  far.path.distance = Distance::other_node;
  far.arrived_bytes = 512;
  const auto fix = [](const char* words) {
    return ElementsAre(testing::Field(&Finding::fix, HasSubstr(words)));
  };
  EXPECT_THAT(findings(evidence), fix("MTU"));
  EXPECT_THAT(findings(evidence), testing::Not(fix("firewall")));
}

TEST(DoctorNodes, ANodeThatIsSlowWithAllOthers) {
  Evidence evidence = three_nodes();
  auto& links = evidence.facts.ranks.links;
  links[1].gb_per_s = links[2].gb_per_s = 1;
  links[1].us = links[2].us = 30;
  EXPECT_FOUND(evidence,
               slow("node n3 is slow to reach", "1.00 GB/s at best, 20.0 GB/s is typical"));
  links[1].gb_per_s = links[2].gb_per_s = 20;
  EXPECT_FOUND(evidence, slow("node n3 is slow to answer", "30.0 us at best, 2.00 us is typical"));
}

TEST(DoctorNodes, AWayThatIsSlowThoughBothNodesAreNot) {
  Evidence evidence = three_nodes();
  evidence.facts.ranks.links[2].gb_per_s = 1;
  EXPECT_FOUND(evidence, slow("between nodes n2 and n3 is slow", "1.00 GB/s"));
}

TEST(DoctorNodes, ThatDiffer) {
  Evidence evidence = three_nodes();
  NodeSeen& odd = evidence.facts.ranks.nodes[1];
  odd.kernel_driver = "570.12";
  EXPECT_FOUND(evidence, note("nodes differ in the driver", "n2: 570.12; n1, n3: 580.65.06"));
  odd.mpi = "Open MPI 5.0.11";
  odd.gpus.clear();
  EXPECT_THAT(findings(evidence),
              AllOf(Contains(broken("nodes differ in their MPI", "n2: Open MPI 5")),
                    Contains(slow("nodes differ in their GPUs", "n2: none; n1, n3: NVIDIA H200"))));
}

TEST(DoctorNodes, GpuAwareWithinANodeOnly) {
  Evidence evidence = three_nodes();
  PathResult& far =
      evidence.paths.emplace_back(ends("gpu_aware", Memory::device, Outcome::failed, "signal 11"));
  far.path.distance = Distance::other_node;
  EXPECT_FOUND(evidence, absent("within a node, but not between nodes", "signal 11"));
  far.outcome = Outcome::wrong;
  far.how = "byte 7 of 8";
  EXPECT_FOUND(evidence, broken("sends wrong bytes between", "byte 7 of 8"));
}

TEST(DoctorNodes, NothingGoesBetweenThem) {
  Evidence evidence = three_nodes();
  evidence.paths.push_back(ends("mpi", Memory::host, Outcome::failed, "timed out after 20 s"));
  evidence.paths.back().path.distance = Distance::other_node;
  EXPECT_FOUND(evidence,
               AllOf(broken("transport mpi with host memory between nodes does not", "timed out"),
                     testing::Field(&Finding::fix, HasSubstr("btl_tcp_if_include"))));
}

TEST(DoctorNodes, AreAllTakenInTheLaunchLine) {
  Evidence evidence = three_nodes();
  EXPECT_THAT(launch_line(recommended_start(evidence, User::ordinary)),
              StartsWith("mpirun -n 6 --map-by ppr:2:node:PE=2 --bind-to core halocline"));
  EXPECT_THAT(batch_script(recommended_start(evidence, User::ordinary), Batch::slurm),
              HasSubstr("#SBATCH --nodes=3\n#SBATCH --ntasks-per-node=2\n"));
  auto& launching = evidence.facts.launching;
  launching.chosen_by = "--launcher";
  launching.launcher->arguments = {"-H", "n1,n2,n3", "-n", "{ranks}"};
  EXPECT_THAT(launch_line(recommended_start(evidence, User::ordinary)),
              StartsWith("/usr/bin/mpirun -H n1,n2,n3 -n 3 halocline"));
}

TEST(DoctorNodes, AnAdapterForEachGpu) {
  using doctor::Nearness;
  Evidence evidence = three_nodes();
  for (NodeSeen& node : evidence.facts.ranks.nodes) {
    node.gpus = {"NVIDIA H200", "NVIDIA H200"};
    node.adapters = {"mlx5_0", "mlx5_1"};
    node.near_adapters = {{0, "mlx5_0", Nearness::pix},
                          {0, "mlx5_1", Nearness::sys},
                          {1, "mlx5_0", Nearness::node},
                          {1, "mlx5_1", Nearness::pxb}};
  }
  EXPECT_FOUND(
      evidence,
      AllOf(note("network adapter of its own", "GPU 0: mlx5_0 (PIX), GPU 1: mlx5_1 (PXB)"),
            testing::Field(&Finding::fix,
                           HasSubstr("UCX_NET_DEVICES (mlx5_0:1 for GPU 0, mlx5_1:1 for GPU 1"))));
  evidence.facts.node.settings["UCX_NET_DEVICES"] = "mlx5_0:1";
  EXPECT_THAT(findings(evidence), IsEmpty()) << "the user has chosen";
  evidence.facts.node.settings.clear();
  auto& near = evidence.facts.ranks.nodes[0].near_adapters;
  near[1].nearness = Nearness::pix;
  EXPECT_THAT(findings(evidence), IsEmpty()) << "of GPU 0, one is as near as the other";
  near[0].nearness = Nearness::pxb;
  near[3].nearness = Nearness::pix;
  EXPECT_THAT(findings(evidence), IsEmpty()) << "one is nearest to both";
  near = {{0, "mlx5_0", Nearness::node}, {1, "mlx5_1", Nearness::node}};
  EXPECT_THAT(findings(evidence), IsEmpty()) << "none is near";
}

TEST(DoctorNodes, SayWhatTheyAre) {
  NodeSeen node = three_nodes().facts.ranks.nodes[1];
  node.near_adapters = {{0, "mlx5_1", doctor::Nearness::pxb}};
  const ProbeFacts facts =
      read_probe_facts(line_of(node) + "\n" + speed_line(1, node.speeds[0]) + "\n" +
                       line_of(three_nodes().facts.ranks.nodes[0]) + "\n" +
                       line_of(Link{0, 1, 2.5, 20}) + "\n" + probe::ends_line() + "\n");
  ASSERT_EQ(facts.nodes.size(), 2U);
  EXPECT_EQ(facts.nodes[0].host, "n1");
  EXPECT_EQ(facts.nodes[1].kernel_driver, "580.65.06");
  EXPECT_FALSE(facts.nodes[1].shm_bytes);
  ASSERT_EQ(facts.nodes[1].near_adapters.size(), 1U);
  EXPECT_EQ(facts.nodes[1].near_adapters[0].adapter, "mlx5_1");
  EXPECT_EQ(facts.nodes[1].near_adapters[0].nearness, doctor::Nearness::pxb);
  ASSERT_EQ(facts.nodes[1].speeds.size(), 1U);
  EXPECT_EQ(facts.nodes[1].speeds[0].copy_gb_per_s, 4000);
  ASSERT_EQ(facts.links.size(), 1U);
  EXPECT_EQ(facts.links[0].us, 2.5);
}

TEST(DoctorRing, NeighboursAreOfOneNodeOrOfTwo) {
  const std::vector<int> in_blocks{0, 0, 1, 1}, in_turn{0, 1, 0, 1};
  EXPECT_THAT(probe::neighbours(in_blocks, 0, Distance::same_node), ElementsAre(1));
  EXPECT_THAT(probe::neighbours(in_blocks, 0, Distance::other_node), ElementsAre(3));
  EXPECT_THAT(probe::neighbours(in_turn, 0, Distance::same_node), ElementsAre(2));
  EXPECT_THAT(probe::neighbours(in_turn, 2, Distance::other_node), ElementsAre(1));
  EXPECT_THAT(probe::neighbours({0, 0, 0}, 1, Distance::same_node), ElementsAre(0, 2));
  EXPECT_THAT(probe::neighbours({0, 0, 0}, 1, Distance::other_node), IsEmpty());
  EXPECT_THAT(probe::neighbours({0, 1}, 1, Distance::other_node), ElementsAre(0));
}

TEST(DoctorRing, WhatOneIsToTheOtherIsMutual) {
  const std::vector<int> node_of{0, 1, 1, 2, 0, 2, 2};
  for (const Distance distance : {Distance::same_node, Distance::other_node})
    for (int rank = 0; rank < 7; ++rank)
      for (const int other : probe::neighbours(node_of, rank, distance))
        EXPECT_THAT(probe::neighbours(node_of, other, distance), Contains(rank));
}

TEST(DoctorRing, FirstPairsAndRanks) {
  EXPECT_EQ(probe::first_pair({0, 1, 0}, Distance::same_node), std::pair(0, 2));
  EXPECT_EQ(probe::first_pair({0, 0, 0}, Distance::other_node), std::nullopt);
  EXPECT_EQ(probe::first_pair({0, 1}, Distance::same_node), std::nullopt);
  EXPECT_THAT(probe::first_ranks({0, 0, 1, 0, 2}), ElementsAre(0, 2, 4));
}

TEST(DoctorRing, EachMeetsEachOnce) {
  EXPECT_THAT(probe::rounds_of_pairs(1, 7), ElementsAre(IsEmpty()));
  EXPECT_THAT(probe::rounds_of_pairs(2, 7), ElementsAre(ElementsAre(Pair(0, 1))));
  for (const int count : {3, 4, 7, 8}) {
    std::vector<std::pair<int, int>> met;
    for (const auto& round : probe::rounds_of_pairs(count, 100)) {
      std::vector<int> busy;
      for (const auto& [a, b] : round) {
        EXPECT_LT(a, b);
        EXPECT_LT(b, count);
        EXPECT_THAT(busy, testing::Not(testing::AnyOf(Contains(a), Contains(b))));
        busy.insert(busy.end(), {a, b});
        EXPECT_THAT(met, testing::Not(Contains(std::pair(a, b))));
        met.emplace_back(a, b);
      }
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(count * (count - 1) / 2));
  }
  EXPECT_EQ(probe::rounds_of_pairs(100, 7).size(), 7U);
}

TEST(DoctorPaths, HaveWords) {
  for (const char* word : {"mpi:host", "staged:device:other-node"})
    EXPECT_EQ(probe::word_of(*probe::path_named(word)), word);
  EXPECT_FALSE(probe::path_named("mpi:host:moon"));
  EXPECT_EQ(words_for(*probe::path_named("mpi:host:other-node")),
            "transport mpi with host memory between nodes");
}

}  // namespace
}  // namespace halocline::test
