// SPDX-License-Identifier: Apache-2.0
// What is said of a speed-up.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "solver/baseline.hpp"

namespace halocline::solver {
namespace {

using testing::HasSubstr;
using testing::Not;

RunsCompared runs(int ranks, double one_seconds, double all_seconds) {
  return {.ranks = ranks,
          .one_seconds = one_seconds,
          .all_seconds = all_seconds,
          .one_bytes = 4 << 20,
          .all_bytes = 2.5 * (1 << 20),
          .one_schedule = "sequential",
          .all_schedule = "sequential"};
}

TEST(SpeedupNote, IsForMoreThanLinearOnes) {
  EXPECT_FALSE(note_on_speedup(runs(2, 1.9, 1)));
  EXPECT_FALSE(note_on_speedup(runs(2, 2.1, 1))) << "5 % are no news";
  EXPECT_TRUE(note_on_speedup(runs(2, 2.11, 1)));
  EXPECT_FALSE(note_on_speedup(runs(8, 8.3, 1)));
  EXPECT_FALSE(note_on_speedup(runs(1, 0.5, 1)));
  EXPECT_FALSE(note_on_speedup(runs(2, 0, 0))) << "one sweep takes no time";
}

TEST(SpeedupNote, SaysWhatWasMeasuredAndTheUsualCause) {
  const std::string note = note_on_speedup(runs(2, 0.024, 0.010)).value();
  EXPECT_THAT(note, HasSubstr("the speed-up of 2.40 on 2 ranks is more than linear"));
  EXPECT_THAT(note, HasSubstr("24.0 ms on one rank, 10.0 ms on 2"));
  EXPECT_THAT(note, HasSubstr("caches: the fields take 4 MiB on one rank, 2.5 MiB on each"));
  EXPECT_THAT(note, Not(HasSubstr("schedule")));
}

TEST(SpeedupNote, NamesSchedulesThatDiffer) {
  RunsCompared compared = runs(4, 0.050, 0.010);
  compared.all_schedule = "persistent";
  const std::string note = note_on_speedup(compared).value();
  EXPECT_THAT(note, HasSubstr("one rank (schedule sequential)"));
  EXPECT_THAT(note, HasSubstr("on 4 (schedule persistent)"));
}

TEST(SpeedupNote, OfOneRankIsHowMuchTimesVary) {
  const std::string note = note_on_speedup(runs(1, 0.012, 0.010)).value();
  EXPECT_THAT(note, HasSubstr("took 10.0 ms as the run and 12.0 ms as its baseline"));
  EXPECT_THAT(note, Not(HasSubstr("caches")));
}

}  // namespace
}  // namespace halocline::solver
