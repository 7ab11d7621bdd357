// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/communicator.hpp>

#include "comm/collectives.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/payload.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using comm::NonblockingAllReduce;
using testing::HasSubstr;
using testing::IsEmpty;

int last() { return ranks() - 1; }

class Collectives : public testing::Test {
 protected:
  const Communicator& world_ = communicator_with();
};

TEST_F(Collectives, KnowRanksAndNodes) {
  EXPECT_EQ(world_.rank(), rank());
  EXPECT_EQ(world_.size(), ranks());
  const Communicator& pairs = communicator_with({.ranks_per_node = 2});
  EXPECT_EQ(pairs.node_count(), (ranks() + 1) / 2);
  EXPECT_EQ(pairs.node_size(), rank() == last() && ranks() % 2 == 1 ? 1 : 2);
  for (int other = 0; other < ranks(); ++other) EXPECT_EQ(pairs.node_of(other), other / 2);
}

TEST_F(Collectives, SelfIsThisRankAlone) {
  const Communicator self = Communicator::self();
  EXPECT_EQ(self.rank(), 0);
  EXPECT_EQ(self.size(), 1);
  EXPECT_EQ(comm::sum_over_ranks(self, 7), 7u);
}

TEST_F(Collectives, ReduceOverRanks) {
  EXPECT_EQ(comm::max_over_ranks(world_, static_cast<double>(-rank())), 0.0);
  EXPECT_EQ(comm::max_over_ranks(world_, std::int64_t{rank()} << 40), std::int64_t{last()} << 40);
  const std::uint64_t half = std::uint64_t{1} << 63;
  EXPECT_EQ(comm::sum_over_ranks(world_, half + 1),
            static_cast<std::uint64_t>(ranks()) * (half + 1))
      << "modulo 2^64";
}

TEST_F(Collectives, GatherInOrderOfRank) {
  const std::vector<double> all = comm::gather_all(world_, rank() * 1.5);
  ASSERT_EQ(all.size(), static_cast<std::size_t>(ranks()));
  for (int other = 0; other < ranks(); ++other)
    EXPECT_EQ(all[static_cast<std::size_t>(other)], other * 1.5);
}

/// Values whose sum depends on the order of adding.
double awkward(int of_rank) { return of_rank % 2 == 0 ? 1e16 / (of_rank + 1) : 1.0 / 3 - of_rank; }

TEST_F(Collectives, SumInOrderOfRank) {
  double expected = 0;
  for (int other = 0; other < ranks(); ++other) expected += awkward(other);
  for (int time = 0; time < 5; ++time)
    EXPECT_EQ(comm::sum_in_rank_order(world_, awkward(rank())), expected);
}

TEST_F(Collectives, BroadcastFromAnyRank) {
  for (int root = 0; root < ranks(); ++root) {
    const std::string mine = "words of rank " + std::to_string(rank());
    EXPECT_EQ(comm::broadcast(world_, mine, root), "words of rank " + std::to_string(root));
  }
  EXPECT_EQ(comm::broadcast(world_, rank() == 0 ? "" : "not this", 0), "");
  const std::string with_zero("a\0b", 3);
  EXPECT_EQ(comm::broadcast(world_, rank() == last() ? with_zero : "", last()), with_zero);
}

TEST_F(Collectives, GatherTextsOnRankZero) {
  const auto text_of = [](int of_rank) {
    return std::string(static_cast<std::size_t>(of_rank * 3 % 5), static_cast<char>('a' + of_rank));
  };
  const std::vector<std::string> texts = comm::gather_texts(world_, text_of(rank()));
  if (rank() != 0) {
    EXPECT_THAT(texts, IsEmpty());
    return;
  }
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(ranks()));
  for (int other = 0; other < ranks(); ++other)
    EXPECT_EQ(texts[static_cast<std::size_t>(other)], text_of(other));
}

TEST_F(Collectives, SendInPieces) {
  for (const std::int64_t piece : {std::int64_t{7}, std::int64_t{1} << 30}) {
    const Communicator& communicator = communicator_with({.piece_bytes = piece});
    for (const std::size_t bytes : {0u, 1u, 7u, 8u, 700u}) {
      std::vector<std::byte> memory(bytes);
      if (rank() != 0) {
        write_payload(memory, {rank(), 0, 0, bytes});
        comm::send(communicator, 0, memory);
        continue;
      }
      for (int from = 1; from < ranks(); ++from) {
        comm::receive(communicator, from, memory);
        EXPECT_TRUE(holds_payload(memory, {from, 0, 0, bytes}));
      }
    }
  }
}

TEST_F(Collectives, WorkTogetherIfNobodyFails) {
  int calls = 0;
  comm::together(world_, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST_F(Collectives, ThrowOneRanksErrorOnEveryRank) {
  for (int failing = 0; failing < ranks(); ++failing) {
    const Caught error = caught([&] {
      comm::together(world_, [&] {
        if (rank() >= failing)
          throw Error(ErrorKind::unavailable, "no luck on " + std::to_string(rank()));
      });
    });
    EXPECT_EQ(error.kind, ErrorKind::unavailable);
    const std::string text = "no luck on " + std::to_string(failing);
    EXPECT_EQ(error.text, failing == 0 ? text : "rank " + std::to_string(failing) + ": " + text);
  }
}

TEST_F(Collectives, TakeTheKindOfErrorFromTheRankWhoseErrorItIs) {
  const Caught error = caught([&] {
    comm::together(world_, [&] {
      if (rank() == 0) throw Error(ErrorKind::usage, "first");
      throw Error(ErrorKind::internal, "other");
    });
  });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_EQ(error.text, "first");
}

TEST_F(Collectives, GiveOtherExceptionsAKind) {
  const auto kind_of = [&](auto thrown) {
    return caught([&] {
      comm::together(world_, [&] {
        if (rank() == last()) throw thrown;
      });
    });
  };
  EXPECT_EQ(kind_of(std::bad_alloc{}).kind, ErrorKind::resource);
  const Caught other = kind_of(std::runtime_error("something else"));
  EXPECT_EQ(other.kind, ErrorKind::internal);
  EXPECT_THAT(other.text, HasSubstr("something else"));
}

TEST_F(Collectives, WorkOnTheFirstRankAlone) {
  int calls = 0;
  comm::on_first_rank(world_, [&] { ++calls; });
  EXPECT_EQ(calls, rank() == 0 ? 1 : 0);
  const Caught error = caught([&] {
    comm::on_first_rank(world_, [] { throw Error(ErrorKind::resource, "the disk is full"); });
  });
  EXPECT_EQ(error.kind, ErrorKind::resource);
  EXPECT_EQ(error.text, "the disk is full");
  EXPECT_EQ(caught([&] { comm::on_first_rank(world_, [] {}); }).text, "no error");
}

TEST_F(Collectives, AcceptTheSameLines) {
  comm::require_same(world_, "plans", {"first", "second"});
  comm::require_same(world_, "plans", {});
}

TEST_F(Collectives, NameTheFirstLineThatDiffers) {
  if (ranks() < 2) GTEST_SKIP() << "one rank has nobody to differ from";
  const auto difference = [&](const std::vector<std::string>& of_last) {
    const std::vector<std::string> common{"same", "width 1", "end"};
    const Caught error =
        caught([&] { comm::require_same(world_, "plans", rank() == last() ? of_last : common); });
    EXPECT_EQ(error.kind, ErrorKind::usage);
    return error.text;
  };
  const std::string rank_text = std::to_string(last());
  EXPECT_EQ(difference({"same", "width 2", "no end"}),
            "the ranks' plans differ: rank 0 has «width 1», rank " + rank_text +
                " has «width 2»; every rank must make the same calls with the same arguments");
  EXPECT_THAT(difference({"same"}),
              HasSubstr("rank 0 has «width 1», rank " + rank_text + " has «nothing»"));
  EXPECT_THAT(difference({"same", "width 1", "end", "more"}),
              HasSubstr("rank 0 has «nothing», rank " + rank_text + " has «more»"));
  EXPECT_THAT(difference({"other", "width 1", "end"}), HasSubstr("rank 0 has «same»"));
}

TEST_F(Collectives, ReduceTheLargestNorm) {
  NonblockingAllReduce norm(world_);
  EXPECT_FALSE(norm.in_flight());
  norm.start(NonblockingAllReduce::Kind::max, 1.0 + rank());
  EXPECT_TRUE(norm.in_flight());
  EXPECT_EQ(norm.finish(), static_cast<double>(ranks()));
  EXPECT_FALSE(norm.in_flight());
}

TEST_F(Collectives, ReduceNormsThatAreNotANumber) {
  NonblockingAllReduce norm(world_);
  for (const auto kind : {NonblockingAllReduce::Kind::max, NonblockingAllReduce::Kind::sum})
    for (int bad = 0; bad < ranks(); ++bad) {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      norm.start(kind, rank() == bad ? nan : 5.0);
      EXPECT_TRUE(std::isnan(norm.finish())) << "on rank " << bad;
    }
  norm.start(NonblockingAllReduce::Kind::max, rank() == last() ? HUGE_VAL : 0.0);
  EXPECT_EQ(norm.finish(), HUGE_VAL);
}

TEST_F(Collectives, ReduceNormsInOrderOfRank) {
  double expected = 0;
  for (int other = 0; other < ranks(); ++other) expected += awkward(other);
  NonblockingAllReduce norm(world_);
  for (int time = 0; time < 5; ++time) {
    norm.start(NonblockingAllReduce::Kind::sum, awkward(rank()));
    EXPECT_EQ(norm.finish(), expected);
  }
}

TEST_F(Collectives, ReduceTwoNormsInTurn) {
  NonblockingAllReduce even(world_), odd(world_);
  even.start(NonblockingAllReduce::Kind::max, 1.0);
  for (int sweep = 1; sweep < 50; ++sweep) {
    NonblockingAllReduce& next = sweep % 2 == 0 ? even : odd;
    NonblockingAllReduce& previous = sweep % 2 == 0 ? odd : even;
    next.start(NonblockingAllReduce::Kind::max, sweep + 1.0 * rank());
    EXPECT_EQ(previous.finish(), sweep == 1 ? 1.0 : sweep - 1 + 1.0 * last());
  }
  const double final = odd.finish();
  EXPECT_EQ(final, 49 + 1.0 * last());
}

TEST_F(Collectives, TellTheMpiThatRuns) {
  const std::string version = comm::library_version();
  EXPECT_THAT(version, HasSubstr(comm::family() == MpiFamily::open_mpi ? "Open MPI " : "MPICH"));
  EXPECT_TRUE(std::isdigit(static_cast<unsigned char>(version.back()))) << version;
}

}  // namespace
}  // namespace halocline::test
