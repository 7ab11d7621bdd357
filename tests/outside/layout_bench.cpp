// SPDX-License-Identifier: Apache-2.0
// `halocline bench layout` over a transport that changes a byte: no other result may be called
// wrong.

#include "bench/layout_bench.hpp"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "outside/faulty_transport.hpp"
#include "report/render.hpp"
#include "support/communicators.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using bench::LayoutBenchOptions;
using bench::LayoutBenchResult;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t sweeps = 4;

LayoutBenchOptions faulty_and_mpi() {
  LayoutBenchOptions options;
  options.cells_per_rank = {8, 6, 4};
  options.backend = "cpu";
  options.layouts = {"array", "brick:4x2x2"};
  options.steps = {1};
  options.sweeps = sweeps;
  options.repetitions = 2;
  options.ways = {"mpi", "faulty"};
  return options;
}

/// Changes the last byte on rank 1, from so many messages on, each time a channel is opened anew.
void fail_after(std::int64_t messages) {
  faulty().set([messages, seen = std::int64_t{0}](std::byte* received, std::int64_t bytes) mutable {
    if (rank() == 1 && seen++ >= messages) received[bytes - 1] ^= std::byte{1};
  });
}

TEST(OutsideLayoutBench, TellsAResultThatIsWrong) {
  fail_after(0);
  const LayoutBenchResult result =
      run_layout_bench(communicator_with({.wait_limit = wait_limit}), faulty_and_mpi());
  ASSERT_EQ(result.timings.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(result.timings[i].wrong.has_value(), i >= 2) << i;
    if (i < 2) continue;
    EXPECT_TRUE(result.timings[i].seconds_per_sweep.empty()) << "a wrong result is not timed";
    EXPECT_THAT(*result.timings[i].wrong, AllOf(HasSubstr("instead of"), HasSubstr("cell (")));
  }
  EXPECT_THAT(*wrong_of(result),
              HasSubstr("faulty with layout array and 1 sweep per exchange: checksum"));
  const std::string text = render_text(report_of(result));
  EXPECT_THAT(text, AllOf(HasSubstr("of the right results"), HasSubstr("WRONG: checksum"),
                          Not(HasSubstr("    faulty"))));
}

TEST(OutsideLayoutBench, ComparesWhatWasTimed) {
  // After the sweeps that are compared before.
  fail_after((sweeps + 1) * (ranks() == 2 ? 1 : 2));
  const LayoutBenchResult result =
      run_layout_bench(communicator_with({.wait_limit = wait_limit}), faulty_and_mpi());
  ASSERT_EQ(result.timings.size(), 4U);
  EXPECT_FALSE(result.timings[0].wrong) << *result.timings[0].wrong;
  ASSERT_TRUE(result.timings[2].wrong);
  EXPECT_THAT(*result.timings[2].wrong,
              AllOf(HasSubstr("after the repetitions"), HasSubstr("mpi with layout array")));
}

}  // namespace
}  // namespace halocline::test
