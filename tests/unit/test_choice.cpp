// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange/selection/choice.hpp"
#include "support/caught.hpp"

namespace halocline::test {
namespace {

using exchange::Choice;
using exchange::PairsThere;
using testing::AllOf;
using testing::HasSubstr;

constexpr PairsThere all_pairs{true, true, true};
constexpr PairsThere no_self{false, true, true};
constexpr PairsThere one_node{true, true, false};

/// "self/shared/mpi", a dash where there is no such pair.
std::string names(const Choice& choice) {
  std::string text;
  for (const transport::Transport* transport : choice) {
    if (!text.empty()) text += '/';
    text += transport != nullptr ? std::string(transport->name()) : "-";
  }
  return text;
}

std::string chosen_from(const std::string& wanted, const exchange::ChoiceFacts& facts) {
  return names(exchange::choose(exchange::read_wanted(wanted), facts));
}

std::string chosen(const std::string& wanted, const PairsThere& there = all_pairs,
                   Memory fields = Memory::host) {
  return chosen_from(wanted, {.there = there, .fields = fields});
}

TEST(WantedTransports, NameEachKindOfPairOnce) {
  const test::Caught error =
      test::caught([] { exchange::read_wanted("same-node=mpi,other-node=mpi,same-node=shared"); });
  EXPECT_THAT(error, says(ErrorKind::usage, "same-node twice"));
}

TEST(Choice, IsTheSameAfterItWasWritten) {
  const Choice choice = exchange::choose(exchange::read_wanted("auto"), {.there = no_self});
  EXPECT_EQ(exchange::text_of(choice), "same-node=shared,other-node=mpi");
  ExchangeInfo info;
  info.transports = exchange::names_of(choice);
  EXPECT_EQ(exchange::choice_of(info), choice);
  EXPECT_EQ(exchange::text_of({}), "auto");
}

TEST(Choice, AutoTakesTheFirstThatServesEachPair) {
  EXPECT_EQ(chosen("auto"), "self/shared/mpi");
  EXPECT_EQ(chosen("auto", one_node), "self/shared/-");
  EXPECT_EQ(chosen("auto", {}), "-/-/-");
}

TEST(Choice, AutoStoresIntoNeighboursOfTheNodeWhereItMay) {
  EXPECT_EQ(chosen("auto", all_pairs, Memory::device), "self/peer/staged");
  EXPECT_EQ(chosen("auto", all_pairs, Memory::managed), "self/peer/staged");
  // The host's memory is not the GPU's to pack, unless that is asked for.
  EXPECT_EQ(chosen("auto", all_pairs, Memory::pinned), "self/mpi/mpi");
  EXPECT_EQ(chosen("same-node=peer", all_pairs, Memory::pinned), "self/peer/mpi");
  const transport::Transport& peer = transport::find_transport("peer");
  EXPECT_EQ(
      chosen_from("auto",
                  {.there = all_pairs, .fields = Memory::device, .excluded = {{{}, {&peer}, {}}}}),
      "self/staged/staged");
}

TEST(Choice, KnowsWhatWouldServeInItsOrder) {
  const auto candidates = [](transport::Pair pair, Memory fields) {
    std::string names;
    for (const auto* one : exchange::candidates({.there = all_pairs, .fields = fields}, pair))
      names += std::string(one->name()) + " ";
    return names;
  };
  EXPECT_EQ(candidates(transport::Pair::same_node, Memory::device), "peer staged ");
  EXPECT_EQ(candidates(transport::Pair::other_node, Memory::device), "staged ");
  EXPECT_EQ(candidates(transport::Pair::same_node, Memory::host), "shared mpi ");
}

// NCCL matches messages by their order, and takes half a second to start.
TEST(Choice, AutoTakesNcclWhereTheOrderIsPromisedAndKernelsDoNotReach) {
  const transport::Transport &nccl = transport::find_transport("nccl"),
                             &peer = transport::find_transport("peer");
  const exchange::Proved works{.stand = exchange::Proved::Stand::works, .words = {}};
  exchange::ChoiceFacts facts{.there = all_pairs,
                              .fields = Memory::device,
                              .proved = {{&nccl, {exchange::Proved{}, works, works}}},
                              .same_order = true};
  EXPECT_EQ(chosen_from("auto", facts), "self/peer/nccl");
  facts.excluded[1] = {&peer};
  EXPECT_EQ(chosen_from("auto", facts), "self/nccl/nccl");
  facts.same_order = false;
  EXPECT_EQ(chosen_from("auto", facts), "self/staged/staged");
  facts.same_order = true;
  facts.proved.clear();
  EXPECT_EQ(chosen_from("auto", facts), "self/staged/staged");
}

TEST(Choice, AutoLeavesOutWhatIsExcluded) {
  const transport::Transport& shared = transport::find_transport("shared");
  EXPECT_EQ(chosen_from("auto", {.there = all_pairs, .excluded = {{{}, {&shared}, {&shared}}}}),
            "self/mpi/mpi");
}

TEST(Choice, ExclusionDoesNotReplaceWhatWasNamed) {
  const transport::Transport& shared = transport::find_transport("shared");
  EXPECT_EQ(chosen_from("same-node=shared",
                        {.there = all_pairs, .excluded = {{{}, {&shared}, {&shared}}}}),
            "self/shared/mpi");
}

TEST(Choice, ASingleNameServesEveryPairButSelf) {
  EXPECT_EQ(chosen("mpi"), "self/mpi/mpi");
  EXPECT_EQ(chosen("shared", one_node), "self/shared/-");
  EXPECT_EQ(chosen("self", {true, false, false}), "self/-/-");
}

TEST(Choice, TakesANamePerKindOfPair) {
  EXPECT_EQ(chosen("self=mpi,same-node=mpi,other-node=mpi"), "mpi/mpi/mpi");
  EXPECT_EQ(chosen("same-node=mpi"), "self/mpi/mpi");
  EXPECT_EQ(chosen("other-node=mpi,same-node=shared"), "self/shared/mpi");
  EXPECT_EQ(chosen("same-node=auto,self=mpi"), "mpi/shared/mpi");
}

TEST(Choice, IgnoresNamesForPairsThatAreNotThere) {
  EXPECT_EQ(chosen("other-node=shared", one_node), "self/shared/-");
  EXPECT_EQ(chosen("self=shared", no_self), "-/shared/mpi");
}

TEST(Choice, RefusesATransportThatCannotServeAPair) {
  const Caught shared = caught([] { chosen("shared"); });
  EXPECT_THAT(shared, says(ErrorKind::unavailable, "transport shared", "other-node pairs",
                           "host memory", "different nodes", "use auto, or other-node=mpi"));
  const Caught self = caught([] { chosen("self", no_self); });
  EXPECT_THAT(self, says(ErrorKind::unavailable, "same-node", "inside a rank"));
  EXPECT_EQ(caught([] { chosen("self=shared"); }).kind, ErrorKind::unavailable);
}

TEST(Choice, RefusesWordsItDoesNotKnow) {
  for (const char* wanted : {"telepathy", "same-node=telepathy", "near=mpi", "same-node=shared,mpi",
                             "same-node=", "=mpi", "", ",", "same-node=shared,,self=mpi"}) {
    const Caught error = caught([&] { chosen(wanted); });
    EXPECT_EQ(error.kind, ErrorKind::usage) << "'" << wanted << "': " << error.text;
  }
  EXPECT_THAT(caught([] { chosen("near=mpi"); }).text,
              AllOf(HasSubstr("'near=mpi'"), HasSubstr("same-node=")));
  EXPECT_THAT(caught([] { chosen("telepathy"); }).text,
              AllOf(HasSubstr("'telepathy'"),
                    HasSubstr("auto, self, shared, peer, nccl, nvshmem, gpu_aware, staged, mpi")));
}

TEST(Choice, RefusesUnknownWordsEvenForPairsThatAreNotThere) {
  EXPECT_EQ(caught([] { chosen("other-node=telepathy", one_node); }).kind, ErrorKind::usage);
}

}  // namespace
}  // namespace halocline::test
