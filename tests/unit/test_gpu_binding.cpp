// SPDX-License-Identifier: Apache-2.0
// Which rank uses which GPU, from made-up facts.

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>

#include "machine/cores.hpp"
#include "machine/gpu_binding.hpp"
#include "support/caught.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::machine {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Facts = std::vector<RankFacts>;

TEST(NoGpu, NamesTheVariableThatTheDriverMayFailOf) {
  const std::string error = "cudaErrorInvalidDevice: invalid device ordinal";
  EXPECT_EQ(device::reason_of_failure(error, std::nullopt),
            "the NVIDIA driver fails with " + error);
  EXPECT_THAT(device::reason_of_failure(error, "0,0"),
              AllOf(HasSubstr(error), HasSubstr("CUDA_VISIBLE_DEVICES is '0,0'")));
}
using Names = std::vector<std::string>;

constexpr const char* all_cores = "";

/// A rank that sees these GPUs, counted from 0, and may run on these cores.
RankFacts rank_that_sees(const Names& uuids, const std::string& cores = all_cores) {
  RankFacts facts;
  for (const std::string& uuid : uuids) {
    VisibleGpu visible;
    visible.gpu.ordinal = static_cast<int>(facts.visible.size());
    visible.gpu.uuid = uuid;
    visible.gpu.name = "NVIDIA H200";
    facts.visible.push_back(visible);
  }
  facts.all_cores = cores == all_cores;
  facts.cores = numbers_in(facts.all_cores ? "0-63" : cores);
  return facts;
}

Facts numbered(Facts all) {
  for (std::size_t i = 0; i < all.size(); ++i) all[i].rank = static_cast<int>(i);
  return all;
}

Facts alike(int ranks, const Names& uuids) {
  return numbered(Facts(static_cast<std::size_t>(ranks), rank_that_sees(uuids)));
}

/// One rank per list of cores on a node of two sockets with two GPUs each: a and b are near cores
/// 0-31, c and d near 32-63.
Facts on_two_sockets(const Names& cores_of_ranks) {
  Facts all;
  for (const std::string& cores : cores_of_ranks) {
    all.push_back(rank_that_sees({"a", "b", "c", "d"}, cores));
    for (std::size_t gpu = 0; gpu < 4; ++gpu)
      all.back().visible[gpu].near_cores = numbers_in(gpu < 2 ? "0-31" : "32-63");
  }
  return numbered(all);
}

Names uuids(const std::vector<Binding>& bindings) {
  Names names;
  for (const Binding& binding : bindings) names.push_back(binding.uuid);
  return names;
}

std::vector<int> ordinals(const std::vector<Binding>& bindings) {
  std::vector<int> numbers;
  for (const Binding& binding : bindings) numbers.push_back(binding.ordinal);
  return numbers;
}

std::vector<int> loads(const std::vector<Binding>& bindings) {
  std::vector<int> numbers;
  for (const Binding& binding : bindings) numbers.push_back(binding.ranks_on_gpu);
  return numbers;
}

Names notes(const std::vector<Binding>& bindings) {
  Names all;
  for (const Binding& binding : bindings)
    all.insert(all.end(), binding.notes.begin(), binding.notes.end());
  return all;
}

// ------------------------------------------------------------------ all see the same GPUs

TEST(BindRanks, GivesOneRankItsOneGpu) {
  const auto bindings = bind_ranks(alike(1, {"a"}));
  EXPECT_THAT(uuids(bindings), ElementsAre("a"));
  EXPECT_THAT(ordinals(bindings), ElementsAre(0));
  EXPECT_THAT(loads(bindings), ElementsAre(1));
  EXPECT_THAT(notes(bindings), IsEmpty());
}

TEST(BindRanks, GivesEachRankOne) {
  const auto bindings = bind_ranks(alike(4, {"a", "b", "c", "d"}));
  EXPECT_THAT(uuids(bindings), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(ordinals(bindings), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(loads(bindings), Each(1));
  EXPECT_THAT(notes(bindings), IsEmpty());
}

TEST(BindRanks, PutsNeighboursInRankOrderOnTheSameGpu) {
  const auto bindings = bind_ranks(alike(8, {"a", "b", "c", "d"}));
  EXPECT_THAT(uuids(bindings), ElementsAre("a", "a", "b", "b", "c", "c", "d", "d"));
  EXPECT_THAT(loads(bindings), Each(2));
  EXPECT_THAT(notes(bindings),
              ElementsAre("ranks 0 and 1 share a, ranks 2 and 3 share b, ranks 4 and 5 share c, "
                          "ranks 6 and 7 share d (8 ranks, 4 GPUs visible) without MPS, so their "
                          "kernels take turns"));
}

TEST(BindRanks, BalancesOddCounts) {
  EXPECT_THAT(uuids(bind_ranks(alike(5, {"a", "b"}))), ElementsAre("a", "a", "a", "b", "b"));
  EXPECT_THAT(loads(bind_ranks(alike(5, {"a", "b"}))), ElementsAre(3, 3, 3, 2, 2));
  EXPECT_THAT(uuids(bind_ranks(alike(7, {"a", "b", "c"}))),
              ElementsAre("a", "a", "a", "b", "b", "c", "c"));
  EXPECT_THAT(uuids(bind_ranks(alike(3, {"a"}))), ElementsAre("a", "a", "a"));
}

TEST(BindRanks, FollowsTheFormulaForManyRanks) {
  const Names eight{"a", "b", "c", "d", "e", "f", "g", "h"};
  for (const int ranks : {9, 12, 31, 64, 100}) {
    const auto bindings = bind_ranks(alike(ranks, eight));
    for (int i = 0; i < ranks; ++i)
      EXPECT_EQ(bindings[static_cast<std::size_t>(i)].ordinal, i * 8 / ranks) << i << "/" << ranks;
  }
}

TEST(BindRanks, SaysWhatMpsMakesOfSharing) {
  Facts all = alike(2, {"a"});
  EXPECT_THAT(notes(bind_ranks(all)), ElementsAre("ranks 0 and 1 share a (2 ranks, 1 GPU visible) "
                                                  "without MPS, so their kernels take turns"));
  all[0].under_mps = true;
  EXPECT_THAT(notes(bind_ranks(all)), ElementsAre(HasSubstr("but rank 1 without MPS")));
  all[1].under_mps = true;
  EXPECT_THAT(notes(bind_ranks(all)),
              ElementsAre("ranks 0 and 1 share a (2 ranks, 1 GPU visible) under "
                          "MPS, so their kernels run side by side"));
}

TEST(BindRanks, SaysThatGpusStayIdle) {
  EXPECT_THAT(notes(bind_ranks(alike(2, {"a", "b", "c", "d"}))),
              ElementsAre("4 GPUs are visible on node 0, but only 2 ranks use them"));
  Facts one = alike(1, {"a", "b"});
  one[0].host = "c012";
  EXPECT_THAT(notes(bind_ranks(one)),
              ElementsAre("2 GPUs are visible on node 0 (c012), but only 1 rank uses one of them"));
}

TEST(BindRanks, TakesTheFirstGpusWhenRanksAreNotBound) {
  EXPECT_THAT(uuids(bind_ranks(on_two_sockets({all_cores, all_cores}))), ElementsAre("a", "b"));
  EXPECT_THAT(uuids(bind_ranks(on_two_sockets({all_cores, all_cores, all_cores, all_cores}))),
              ElementsAre("a", "b", "c", "d"));
}

// --------------------------------------------------------------------------------- near cores

TEST(BindRanks, PrefersGpusNearTheCores) {
  EXPECT_THAT(uuids(bind_ranks(on_two_sockets({"0-31", "32-63"}))), ElementsAre("a", "c"));
  EXPECT_THAT(uuids(bind_ranks(on_two_sockets({"32-63", "0-31"}))), ElementsAre("c", "b"));
  EXPECT_THAT(uuids(bind_ranks(on_two_sockets({"40"}))), ElementsAre("c"));
  EXPECT_THAT(uuids(bind_ranks(on_two_sockets({"0-15", "32-47", "16-31", "48-63"}))),
              ElementsAre("a", "c", "b", "d"));
}

TEST(BindRanks, KeepsOrderAmongRanksDealtOutToSockets) {
  EXPECT_THAT(uuids(bind_ranks(on_two_sockets({"0", "32", "1", "33", "2", "34", "3", "35"}))),
              ElementsAre("a", "c", "a", "c", "b", "d", "b", "d"));
}

TEST(BindRanks, PrefersTheGpuNearMostOfTheCores) {
  EXPECT_THAT(uuids(bind_ranks(on_two_sockets({"24-63"}))), ElementsAre("c"));
  EXPECT_THAT(uuids(bind_ranks(on_two_sockets({"0-39"}))), ElementsAre("a"));
  EXPECT_THAT(uuids(bind_ranks(on_two_sockets({"4-63"}))), ElementsAre("c")) << "28 and 32 cores";
}

TEST(BindRanks, DrawsUnboundRanksToNoSocket) {
  Facts all = on_two_sockets({all_cores});
  all[0].visible[0].near_cores = {0, 1};
  EXPECT_THAT(uuids(bind_ranks(all)), ElementsAre("a"));
}

TEST(BindRanks, RatherCrossesSocketsThanSharesAndSaysSo) {
  const auto bindings = bind_ranks(on_two_sockets({"0-7", "8-15", "16-23"}));
  EXPECT_THAT(uuids(bindings), ElementsAre("a", "b", "c"));
  EXPECT_THAT(notes(bindings),
              ElementsAre(HasSubstr("4 GPUs are visible"),
                          AllOf(HasSubstr("rank 2 may run on cores 16-23"),
                                HasSubstr("far from its c"), HasSubstr("near it: 32-63"))));
  EXPECT_THAT(bindings[2].notes, Contains(HasSubstr("far")));
}

TEST(BindRanks, SaysNothingOfDistancesThatAreNotKnown) {
  Facts all = alike(1, {"a"});
  all[0].all_cores = false;
  all[0].cores = {1, 2};
  EXPECT_THAT(notes(bind_ranks(all)), IsEmpty());
}

TEST(BindRanks, PutsUnboundRanksWhereBoundOnesDoNotWantToBe) {
  EXPECT_THAT(uuids(bind_ranks(on_two_sockets({all_cores, "0-7", "8-15"}))),
              ElementsAre("c", "a", "b"));
}

// ----------------------------------------------------------------------- ranks see different GPUs

TEST(BindRanks, TellsGpusThatAreAllCalledZeroByUuid) {
  const Facts all = numbered({rank_that_sees({"d"}), rank_that_sees({"a"}), rank_that_sees({"c"})});
  const auto bindings = bind_ranks(all);
  EXPECT_THAT(uuids(bindings), ElementsAre("d", "a", "c"));
  EXPECT_THAT(ordinals(bindings), Each(0));
  EXPECT_THAT(loads(bindings), Each(1));
  EXPECT_THAT(notes(bindings), IsEmpty());
}

TEST(BindRanks, SeesThatOneGpuIsCalledZeroAndOne) {
  const auto bindings =
      bind_ranks(numbered({rank_that_sees({"a", "b"}), rank_that_sees({"b", "a"})}));
  EXPECT_THAT(uuids(bindings), ElementsAre("a", "b"));
  EXPECT_THAT(ordinals(bindings), ElementsAre(0, 0));
}

TEST(BindRanks, SharesNothingWhileOverlappingSetsLeaveAWay) {
  EXPECT_THAT(uuids(bind_ranks(numbered({rank_that_sees({"a", "b"}), rank_that_sees({"a"})}))),
              ElementsAre("b", "a"));
  const auto chain = bind_ranks(numbered({rank_that_sees({"a", "b"}), rank_that_sees({"b", "c"}),
                                          rank_that_sees({"c", "d"}), rank_that_sees({"a"})}));
  EXPECT_THAT(uuids(chain), ElementsAre("b", "c", "d", "a"));
  EXPECT_THAT(ordinals(chain), ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(notes(chain), IsEmpty());
}

TEST(BindRanks, SaysThatSharersDoNotSeeFreeGpus) {
  const auto bindings = bind_ranks(
      numbered({rank_that_sees({"a"}), rank_that_sees({"a"}), rank_that_sees({"b", "c"})}));
  EXPECT_THAT(uuids(bindings), ElementsAre("a", "a", "b"));
  EXPECT_THAT(loads(bindings), ElementsAre(2, 2, 1));
  EXPECT_THAT(notes(bindings),
              ElementsAre(HasSubstr("ranks 0 and 1 share a (2 ranks, 1 GPU visible)"),
                          AllOf(HasSubstr("3 GPUs are visible on node 0, but only 2"),
                                HasSubstr("do not see the free ones"))));
}

TEST(BindRanks, CountsAGpuListedTwiceOnce) {
  Facts all = alike(2, {"a", "a"});
  all[0].visible_devices = "0,0";
  const auto bindings = bind_ranks(all);
  EXPECT_THAT(uuids(bindings), ElementsAre("a", "a"));
  EXPECT_THAT(ordinals(bindings), ElementsAre(0, 0));
  EXPECT_THAT(notes(bindings),
              ElementsAre(AllOf(HasSubstr("rank 0 sees a more than once, as devices 0 and 1"),
                                HasSubstr("CUDA_VISIBLE_DEVICES: 0,0")),
                          HasSubstr("share a (2 ranks, 1 GPU visible)"),
                          HasSubstr("rank 1 sees a more than once")));
}

TEST(BindRanks, TakesPartsOfAGpuForGpus) {
  const Names parts{"MIG-1", "MIG-2", "MIG-3"};
  EXPECT_THAT(uuids(bind_ranks(alike(3, parts))), ElementsAre("MIG-1", "MIG-2", "MIG-3"));
  EXPECT_THAT(uuids(bind_ranks(alike(6, parts))),
              ElementsAre("MIG-1", "MIG-1", "MIG-2", "MIG-2", "MIG-3", "MIG-3"));
}

TEST(BindRanks, LeavesOutGpusThatMayNotBeUsed) {
  Facts all = alike(2, {"a", "b", "c"});
  for (RankFacts& facts : all) facts.visible[0].gpu.mode = device::ComputeMode::prohibited;
  const auto bindings = bind_ranks(all);
  EXPECT_THAT(uuids(bindings), ElementsAre("b", "c"));
  EXPECT_THAT(ordinals(bindings), ElementsAre(1, 2));
  EXPECT_THAT(notes(bindings), ElementsAre(AllOf(HasSubstr("compute mode of a prohibits"),
                                                 HasSubstr("nvidia-smi -i a -c DEFAULT"))));
}

TEST(BindRanks, NamesTheModelsIfTheyDiffer) {
  Facts all = alike(3, {"a", "b", "c"});
  for (RankFacts& facts : all) facts.visible[1].gpu.name = "NVIDIA A100";
  EXPECT_THAT(notes(bind_ranks(all)),
              ElementsAre(AllOf(HasSubstr("different models"), HasSubstr("NVIDIA A100 (rank 1)"),
                                HasSubstr("NVIDIA H200 (ranks 0 and 2)"), HasSubstr("slowest"))));
  all.pop_back();
  for (RankFacts& facts : all) facts.visible[1].gpu.name = "NVIDIA H200";
  for (RankFacts& facts : all) facts.visible[2].gpu.name = "idle one";
  EXPECT_THAT(notes(bind_ranks(all)), Not(Contains(HasSubstr("models"))));
}

// ------------------------------------------------------------------------------- several nodes

/// `ranks` per node, whose GPUs are called a0, b0, ... on node 0.
Facts nodes_of(int nodes, int ranks, const Names& gpus) {
  Facts all;
  for (int node = 0; node < nodes; ++node) {
    Names names = gpus;
    for (std::string& name : names) name += std::to_string(node);
    for (int i = 0; i < ranks; ++i) {
      all.push_back(rank_that_sees(names));
      all.back().node = node;
    }
  }
  return numbered(all);
}

TEST(BindRanks, StartsAnewOnEachNode) {
  const auto bindings = bind_ranks(nodes_of(2, 3, {"a", "b", "c"}));
  EXPECT_THAT(uuids(bindings), ElementsAre("a0", "b0", "c0", "a1", "b1", "c1"));
  EXPECT_THAT(ordinals(bindings), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(notes(bindings), IsEmpty());
}

TEST(BindRanks, TakesNodesWhoseRanksAlternate) {
  Facts all = nodes_of(2, 2, {"a", "b"});
  std::swap(all[1], all[2]);
  EXPECT_THAT(uuids(bind_ranks(numbered(all))), ElementsAre("a0", "a1", "b0", "b1"));
}

TEST(BindRanks, SpeaksOfEachNode) {
  const auto bindings = bind_ranks(nodes_of(2, 2, {"a"}));
  EXPECT_THAT(notes(bindings), ElementsAre(HasSubstr("ranks 0 and 1 share a0"),
                                           HasSubstr("ranks 2 and 3 share a1")));
  EXPECT_THAT(bindings[2].notes, ElementsAre(HasSubstr("ranks 2 and 3 share a1")));
}

TEST(BindRanks, CountsNotesOfManyNodes) {
  const auto bindings = bind_ranks(nodes_of(10, 2, {"a", "b", "c"}));
  EXPECT_THAT(notes(bindings),
              ElementsAre("3 GPUs are visible on node 0, but only 2 ranks use them",
                          "3 GPUs are visible on node 1, but only 2 ranks use them",
                          AllOf(HasSubstr("ranks 4-19"), HasSubstr("8 more notes"))));
}

TEST(BindRanks, CountsAGpuOnceThatTwoNodesShow) {
  // comm::Settings::ranks_per_node makes several nodes of one machine.
  Facts all = alike(4, {"a", "b"});
  for (RankFacts& facts : all) facts.node = facts.rank / 2;
  const auto bindings = bind_ranks(all);
  EXPECT_THAT(uuids(bindings), ElementsAre("a", "a", "b", "b"));
  EXPECT_THAT(loads(bindings), Each(2));
}

// ---------------------------------------------------------------------------------- no GPU

std::string error_of(const Facts& all) {
  const test::Caught error = test::caught([&] { bind_ranks(all); });
  EXPECT_EQ(error.kind, ErrorKind::unavailable);
  return error.text;
}

TEST(BindRanks, NamesTheRankThatSeesNoGpu) {
  Facts all = numbered({rank_that_sees({"a"}), rank_that_sees({}), rank_that_sees({"b"})});
  all[0].visible_devices = "3";
  all[1].visible_devices = "";
  all[1].node = 4;
  all[1].host = "c012";
  all[1].none_because = "the reason";
  EXPECT_THAT(error_of(all),
              AllOf(HasSubstr("rank 1 on node 4 (c012) sees no GPU it can use (the reason)"),
                    HasSubstr("CUDA_VISIBLE_DEVICES is '' on rank 1 and '3' on rank 0"),
                    HasSubstr("srun --gpus-per-task"), HasSubstr("--gpu-bind=none"),
                    HasSubstr("option 'backend' set to 'cpu'")));
  all[0] = all[1];
  all[1].visible_devices.reset();
  EXPECT_THAT(error_of(numbered(all)),
              AllOf(HasSubstr("rank 0 on"), HasSubstr("(nor does rank 1)"),
                    HasSubstr("rank 2 on node 0 does"), HasSubstr("and not set on rank 2")));
}

TEST(BindRanks, PassesOnWhyNobodySeesAGpu) {
  Facts all = alike(2, {});
  EXPECT_THAT(error_of(all), HasSubstr("option 'backend' set to 'cpu'"));
  for (RankFacts& facts : all) facts.none_because = "no driver; install one";
  EXPECT_EQ(error_of(all), "no rank sees a GPU it can use: no driver; install one");
}

TEST(BindRanks, SaysWhenGpusAreThereButProhibited) {
  Facts all = alike(2, {"a"});
  for (RankFacts& facts : all) facts.visible[0].gpu.mode = device::ComputeMode::prohibited;
  EXPECT_THAT(error_of(all), HasSubstr("compute mode of a prohibits"));
}

TEST(BindRanks, OfNobodyIsNothing) { EXPECT_THAT(bind_ranks({}), IsEmpty()); }

TEST(BindRanks, GivesTheSameEachTime) {
  const Facts all = on_two_sockets({"0", "32-40", all_cores, "1", "20-50", all_cores, "63"});
  const auto first = bind_ranks(all);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(uuids(bind_ranks(all)), uuids(first));
    EXPECT_EQ(notes(bind_ranks(all)), notes(first));
  }
}

// ------------------------------------------------------------------------------------ facts

TEST(RankFactsText, ComesBackUnchanged) {
  RankFacts facts = on_two_sockets({"0-3,9"})[0];
  facts.rank = 3;
  facts.node = 2;
  facts.host = "host \"name\"";
  facts.none_because = "two\nlines\tand \\ {json}";
  facts.visible_devices = "";
  facts.under_mps = true;
  device::Gpu& gpu = facts.visible[2].gpu;
  gpu.name = "a\nb, c";
  gpu.pci = "0000:1b:00.0";
  gpu.memory_bytes = std::int64_t{144} << 30;
  gpu.multiprocessors = 132;
  gpu.major = 9;
  gpu.minor = 1;
  gpu.mode = device::ComputeMode::exclusive;
  gpu.no_system_memory = "why";

  const std::string line = to_line(facts);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const RankFacts back = from_line(line);
  EXPECT_EQ(to_line(back), line);
  EXPECT_EQ(back.rank, 3);
  EXPECT_EQ(back.node, 2);
  EXPECT_EQ(back.host, facts.host);
  EXPECT_EQ(back.none_because, facts.none_because);
  EXPECT_EQ(back.cores, facts.cores);
  EXPECT_FALSE(back.all_cores);
  EXPECT_EQ(back.visible_devices, "");
  EXPECT_TRUE(back.under_mps);
  ASSERT_EQ(back.visible.size(), 4U);
  const device::Gpu& same = back.visible[2].gpu;
  EXPECT_EQ(same.ordinal, 2);
  EXPECT_EQ(same.uuid, "c");
  EXPECT_EQ(same.name, gpu.name);
  EXPECT_EQ(same.pci, gpu.pci);
  EXPECT_EQ(same.memory_bytes, gpu.memory_bytes);
  EXPECT_EQ(same.multiprocessors, 132);
  EXPECT_EQ(same.major, 9);
  EXPECT_EQ(same.minor, 1);
  EXPECT_EQ(same.mode, device::ComputeMode::exclusive);
  EXPECT_EQ(same.no_system_memory, "why");
  EXPECT_EQ(back.visible[2].near_cores, numbers_in("32-63"));
}

TEST(RankFactsText, TellsUnsetFromEmptyAndTakesAnyBytes) {
  RankFacts facts = rank_that_sees({});
  EXPECT_EQ(from_line(to_line(facts)).visible_devices, std::nullopt);
  facts.visible_devices = "\xff\xfe";
  EXPECT_NO_THROW(from_line(to_line(facts)));
}

TEST(NearCores, AreReadFromTheDevice) {
  const test::TemporaryFolder folder;
  folder.put("0000:1b:00.0/local_cpulist", "0-2,64-65\n");
  EXPECT_THAT(near_cores("0000:1b:00.0", folder.path()), ElementsAre(0, 1, 2, 64, 65));
  EXPECT_THAT(near_cores("0000:1c:00.0", folder.path()), IsEmpty());
  EXPECT_THAT(near_cores("", folder.path()), IsEmpty());
}

TEST(MpsListens, WhereItsControlIs) {
  const test::TemporaryFolder folder;
  EXPECT_FALSE(mps_listens(folder.path()));
  EXPECT_FALSE(mps_listens(folder / "none"));
  folder.put("control", "");
  EXPECT_TRUE(mps_listens(folder.path()));
}

}  // namespace
}  // namespace halocline::machine
