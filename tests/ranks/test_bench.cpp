// SPDX-License-Identifier: Apache-2.0
// `halocline bench` on some ranks: what it finds is sane, and a wrong byte is found.

#include <algorithm>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/halo_bench.hpp"
#include "bench/known_fields.hpp"
#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using bench::HaloBenchOptions;
using bench::HaloBenchResult;
using bench::HaloTiming;
using testing::HasSubstr;

HaloBenchOptions brief_halos() {
  HaloBenchOptions options;
  options.cells_per_rank = {{12, 10}, {6, 5, 4}};
  options.periodic = {true, true, true};
  options.memories = {"host"};
  options.loop.repetitions = 5;
  return options;
}

TEST(Bench, FindsWhatIsSane) {
  HaloBenchOptions options = brief_halos();
  options.widths = {1, 2};
  options.fields = {1, 3};
  options.neighbours = Neighbours::all;
  const HaloBenchResult result = run_halo_bench(world(), options);
  EXPECT_EQ(result.ranks, ranks());
  const std::size_t transports = ranks() > 1 ? 2 : 1;  // shared and mpi, or self
  ASSERT_EQ(result.timings.size(), 8 * transports);
  for (const HaloTiming& timing : result.timings) {
    EXPECT_FALSE(timing.wrong) << *timing.wrong;
    EXPECT_EQ(timing.memory, "host");
    EXPECT_EQ(timing.time.repetitions, 5);
    EXPECT_GT(timing.time.min_seconds, 0);
    EXPECT_LE(timing.time.min_seconds, timing.time.median_seconds);
    EXPECT_LE(timing.time.median_seconds, timing.time.p99_seconds);
    EXPECT_EQ(timing.phases.size(), 5u);
    // Everything is the same on every rank.
    EXPECT_EQ(comm::max_over_ranks(world(), timing.time.median_seconds),
              timing.time.median_seconds);
    // Only the last axis is split; its slabs reach around the others with --corners.
    const int split = timing.cells_per_rank.axes() - 1;
    std::int64_t slab = timing.width;
    for (int axis = 0; axis < split; ++axis) slab *= timing.cells_per_rank[axis] + 2 * timing.width;
    EXPECT_EQ(timing.messages, ranks() > 2 ? 2 : ranks() - 1);
    EXPECT_EQ(timing.bytes, ranks() > 1 ? 2 * slab * timing.fields * 8 : 0);
    EXPECT_EQ(timing.gigabytes_per_second.has_value(), ranks() > 1);
    EXPECT_EQ(timing.memcpy_gigabytes_per_second.has_value(), ranks() > 1);
  }
}

TEST(Bench, TimesOnlyFacesAndTheTransportAsked) {
  HaloBenchOptions options = brief_halos();
  options.precision = "f32";
  options.transports = {"mpi"};
  const HaloBenchResult result = run_halo_bench(world(), options);
  ASSERT_EQ(result.timings.size(), 2u);
  EXPECT_EQ(result.timings[0].bytes, ranks() > 1 ? 2 * 12 * 4 : 0);
  EXPECT_EQ(result.timings[1].bytes, ranks() > 1 ? 2 * 6 * 5 * 4 : 0);
  for (const HaloTiming& timing : result.timings)
    EXPECT_THAT(timing.transports,
                testing::Contains(std::pair<std::string, std::string>(
                    ranks() > 1 ? "same-node" : "self", ranks() > 1 ? "mpi" : "self")));
}

TEST(Bench, TimesRivalsOfEveryCaseLikeTransports) {
  HaloBenchOptions options = brief_halos();
  options.widths = {1, 2};
  options.fields = {1, 3};
  options.neighbours = Neighbours::all;
  options.rivals = {"derived_types"};
  const HaloBenchResult result = run_halo_bench(world(), options);
  ASSERT_EQ(result.rivals.size(), 8u);
  const std::size_t transports = result.timings.size() / 8;
  for (std::size_t i = 0; i < 8; ++i) {
    const HaloTiming &rival = result.rivals[i], &timing = result.timings[i * transports];
    EXPECT_EQ(rival.not_run, std::nullopt);
    EXPECT_EQ(rival.wrong, std::nullopt);
    EXPECT_EQ(rival.cells_per_rank, timing.cells_per_rank);
    EXPECT_EQ(rival.width, timing.width);
    EXPECT_EQ(rival.fields, timing.fields);
    EXPECT_EQ(rival.bytes, timing.bytes) << "the same halo";
    EXPECT_GE(rival.messages, timing.messages * timing.fields) << "one for each field at least";
    EXPECT_EQ(rival.time.repetitions, 5);
    EXPECT_GT(rival.time.median_seconds, 0);
  }
}

TEST(Bench, SaysWhatIsLeftOutAndWhy) {
  if (ranks() == 1) GTEST_SKIP() << "one rank needs no transport";
  const HaloBenchResult result = run_halo_bench(world(), brief_halos());
  const auto tells = HasSubstr("staged");
  if (device::gpus().list.empty()) {
    EXPECT_THAT(result.notes, testing::Not(testing::Contains(tells))) << "without a GPU";
  } else {
    EXPECT_EQ(std::count_if(result.notes.begin(), result.notes.end(),
                            [&](const std::string& note) { return testing::Value(note, tells); }),
              1);
  }
}

TEST(Bench, KnowsNodes) {
  if (ranks() < 4) GTEST_SKIP() << "two nodes of two ranks need 4";
  const Communicator& nodes = communicator_with({.wait_limit = wait_limit, .ranks_per_node = 2});
  const HaloBenchResult result = run_halo_bench(nodes, brief_halos());
  ASSERT_FALSE(result.timings.empty());
  EXPECT_THAT(result.timings[0].transports,
              testing::IsSupersetOf({std::pair<std::string, std::string>("same-node", "shared"),
                                     std::pair<std::string, std::string>("other-node", "mpi")}));
  for (const HaloTiming& timing : result.timings)
    EXPECT_FALSE(timing.memcpy_gigabytes_per_second) << "of a network no bound is known";
}

TEST(Bench, RefusesAlikeOnAllRanks) {
  HaloBenchOptions options = brief_halos();
  options.widths = {11};
  EXPECT_EQ(caught([&] { run_halo_bench(world(), options); }).kind, ErrorKind::usage);
  options = brief_halos();
  options.cells_per_rank = {{1 << 30, 1 << 20}};
  EXPECT_THAT(caught([&] { run_halo_bench(world(), options); }),
              says(ErrorKind::resource, "use fewer cells"));
  options = brief_halos();
  options.graphs = {"on"};
  const Caught graph = caught([&] { run_halo_bench(world(), options); });
  EXPECT_THAT(graph, says(ErrorKind::unavailable, "CUDA graph", "--graph off"));
  if (ranks() == 1) return;
  options = brief_halos();
  options.transports = {"self"};
  const Caught self = caught([&] { run_halo_bench(world(), options); });
  EXPECT_THAT(self, says(ErrorKind::unavailable, "self cannot serve same-node"));
}

TEST(Bench, TimesGpus) {
  NEED_GPU();
  HaloBenchOptions options = brief_halos();
  options.memories = {"device", "managed"};
  options.transports = {"staged"};
  const HaloBenchResult result = run_halo_bench(world(), options);
  ASSERT_EQ(result.timings.size(), 4u);
  EXPECT_EQ(result.devices[0].kind, "gpu");
  for (const HaloTiming& timing : result.timings) {
    EXPECT_FALSE(timing.wrong) << *timing.wrong;
    EXPECT_FALSE(timing.memcpy_gigabytes_per_second);
  }
}

TEST(Bench, TimesGraphsOfExchangesBetweenGpus) {
  NEED_GPU();
  HaloBenchOptions options = brief_halos();
  options.cells_per_rank = {{12, 10}};
  options.memories = {"device"};
  options.graphs = {"off", "on"};
  options.transports =
      ranks() > 1 ? std::vector<std::string>{"peer", "staged"} : std::vector<std::string>{"auto"};
  const HaloBenchResult result = run_halo_bench(world(), options);
  ASSERT_EQ(result.timings.size(), ranks() > 1 ? 3u : 2u);
  EXPECT_EQ(result.timings[0].graph, "off");
  EXPECT_EQ(result.timings[1].graph, "on");
  for (const HaloTiming& timing : result.timings) {
    EXPECT_FALSE(timing.wrong) << *timing.wrong;
    EXPECT_EQ(timing.phases.empty(), timing.graph == "on");
    // Where ranks share a GPU no link bounds what they do.
    const bool each_has_one = result.devices.size() == static_cast<std::size_t>(ranks());
    EXPECT_EQ(timing.link_gigabytes_per_second.has_value(), ranks() > 1 && each_has_one);
  }
  if (ranks() == 1) return;
  EXPECT_THAT(result.notes,
              testing::Contains(AllOf(HasSubstr("by staged"), HasSubstr("CUDA graphs"))));
  options.transports = {"staged"};
  options.graphs = {"on"};
  EXPECT_EQ(caught([&] { run_halo_bench(world(), options); }).kind, ErrorKind::unavailable);
}

/// The first byte of an owned cell, at the rank's lower corner, is changed before the exchange.
class BenchKnownFields : public testing::TestWithParam<std::int64_t> {
 protected:
  Grid grid_{rank(),
             ranks(),
             {.cells = {6, 4 * ranks()}, .periodic = {true, true}, .process_grid = {1, ranks()}}};
  std::unique_ptr<bench::KnownFields> fields_ =
      bench::make_known_fields(grid_, {.count = 2, .element_bytes = GetParam(), .width = 2});

  void exchange(const ExchangeOptions& options) {
    Exchange(world(), grid_, fields_->list(), options).run();
  }
};

TEST_P(BenchKnownFields, AreRightAfterAnExchange) {
  for (const Neighbours neighbours : {Neighbours::faces, Neighbours::all}) {
    fields_->fill();
    exchange({.neighbours = neighbours});
    EXPECT_EQ(fields_->first_wrong(neighbours), std::nullopt);
  }
}

TEST_P(BenchKnownFields, TellThatNothingHasCome) {
  fields_->fill();
  EXPECT_THAT(fields_->first_wrong(Neighbours::faces).value_or("all is right"),
              HasSubstr("no data arrived"));
}

TEST_P(BenchKnownFields, FindOneWrongByte) {
  fields_->fill();
  // Of the second field, what the upper neighbour's halo gets.
  const FieldStorage& second = fields_->list()[1];
  const Strides& step = second.strides();
  second.first_owned()[(3 * step.x + 3 * step.y) * GetParam()] ^= std::byte{0x10};
  exchange({.neighbours = Neighbours::all});
  EXPECT_THAT(fields_->first_wrong(Neighbours::all).value_or("all is right"),
              HasSubstr("field 1, halo cell (3, "));
}

TEST_P(BenchKnownFields, FindThinHalosAndMissingCorners) {
  fields_->fill();
  exchange({.neighbours = Neighbours::all, .widths = 1});
  EXPECT_NE(fields_->first_wrong(Neighbours::all), std::nullopt);
  fields_->fill();
  exchange({.neighbours = Neighbours::faces});
  EXPECT_NE(fields_->first_wrong(Neighbours::all), std::nullopt);
  fields_->fill();
  exchange({.neighbours = Neighbours::all});
  EXPECT_NE(fields_->first_wrong(Neighbours::faces), std::nullopt) << "corners are nobody's";
}

INSTANTIATE_TEST_SUITE_P(ElementBytes, BenchKnownFields, testing::Values(4, 8));

}  // namespace
}  // namespace halocline::test
