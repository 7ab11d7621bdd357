// SPDX-License-Identifier: Apache-2.0
// The prober, over transports that do and do not work; host memory stands for a GPU's.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/gpu.hpp"
#include "outside/faulty_transport.hpp"
#include "probe/lines.hpp"
#include "probe/prober.hpp"
#include "support/communicators.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using probe::Outcome;
using probe::PathResult;
using proof::GpuPair;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Probe : public testing::Test {
 protected:
  void SetUp() override {
    if (ranks() < 2) GTEST_SKIP() << "one rank has nobody to send to";
  }

  /// Returns what rank 0 said of each path; nothing on the others.
  std::vector<PathResult> probe(std::vector<probe::Path> paths, std::vector<std::int64_t> bytes) {
    said_.clear();
    probe::try_in_ranks(communicator_with(), {.paths = std::move(paths), .bytes = std::move(bytes)},
                        [this](const std::string& line) { said_ += line + '\n'; });
    const probe::PathLines said = probe::read_paths(said_);
    EXPECT_EQ(said.ended, rank() == 0);
    std::vector<PathResult> results;
    for (const auto& [result, is_decided] : said.rows) {
      EXPECT_TRUE(is_decided);
      results.push_back(result);
    }
    return results;
  }
  std::vector<PathResult> probe(const Fault& fault, std::vector<std::int64_t> bytes) {
    faulty().set(fault);
    return probe({{"faulty", Memory::host}}, std::move(bytes));
  }

  std::string said_;
};

TEST_F(Probe, ProvesATransportThatWorks) {
  const std::vector<PathResult> results = probe({{"mpi", Memory::host}}, {8, 4096, 300'008});
  if (rank() != 0) {
    EXPECT_EQ(said_, "") << "rank 0 speaks for all";
    return;
  }
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].outcome, Outcome::works);
  EXPECT_THAT(results[0].tried, ElementsAre(8, 4096, 300'008));
  EXPECT_EQ(results[0].arrived_bytes, 300'008);
  EXPECT_THAT(results[0].pairs, ElementsAre(GpuPair::same_node));
  EXPECT_TRUE(probe::us_for(results[0], 4096));
}

TEST_F(Probe, SaysWhatItTriesBeforeItDoes) {
  std::string said_at_first;
  probe(
      [&](std::byte*, std::int64_t) {
        if (said_at_first.empty()) said_at_first = said_;
      },
      {8, 64});
  if (rank() != 0) return;
  EXPECT_THAT(said_at_first,
              testing::EndsWith(probe::trying_line({"faulty", Memory::host}, 8) + "\n"));
}

TEST_F(Probe, FindsOneWrongByteOnOneRank) {
  const std::vector<PathResult> results = probe(
      [](std::byte* received, std::int64_t bytes) {
        if (rank() == ranks() - 1 && bytes == 64) received[17] ^= std::byte{1};
      },
      {8, 64, 4096});
  if (rank() != 0) return;
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].outcome, Outcome::wrong);
  EXPECT_THAT(results[0].tried, ElementsAre(8, 64)) << "larger messages are not tried";
  EXPECT_EQ(results[0].arrived_bytes, 8);
  EXPECT_THAT(results[0].how, HasSubstr("byte 17 of 64"));
  EXPECT_THAT(results[0].how, HasSubstr("to rank " + std::to_string(ranks() - 1)));
}

TEST_F(Probe, FindsBytesThatStayAsTheyWere) {
  // A transport that delivers once, and then never again.
  std::vector<std::byte> first;
  const std::vector<PathResult> results = probe(
      [&](std::byte* received, std::int64_t bytes) {
        if (first.empty()) first.assign(received, received + bytes);
        std::copy(first.begin(), first.end(), received);
      },
      {64});
  if (rank() != 0) return;
  EXPECT_EQ(results.at(0).outcome, Outcome::wrong);
}

TEST_F(Probe, SaysWhichMemoryIsNotThere) {
  if (!device::gpus().list.empty()) GTEST_SKIP() << "there is a GPU";
  const std::vector<PathResult> results =
      probe({{"staged", Memory::device}, {"gpu_aware", Memory::managed}}, {8});
  if (rank() != 0) return;
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[1].path.memory, Memory::managed);
  EXPECT_EQ(results[1].outcome, Outcome::unavailable);
  EXPECT_NE(results[1].how, "");
  EXPECT_THAT(results[1].tried, IsEmpty());
}

TEST_F(Probe, ProvesWhatNeedsAProofWithMoreSizes) {
  const std::vector<PathResult> results = probe({{"MPI_Send", Memory::host}}, {});
  if (rank() != 0) return;
  EXPECT_EQ(results.at(0).tried, probe::sizes_to_prove());
}

}  // namespace
}  // namespace halocline::test
