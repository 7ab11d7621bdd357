// SPDX-License-Identifier: Apache-2.0
// How a long run gets on, as a terminal and a log get it.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/progress_line.hpp"

namespace halocline::cli {
namespace {

using Where = ProgressLine::Where;

/// What standard error gets of a run that is told of at these seconds, after a tenth of its sweeps
/// each.
std::string shown(Where where, std::initializer_list<double> times, std::int64_t sweeps = 1000,
                  std::optional<std::int64_t> saved = {}) {
  testing::internal::CaptureStderr();
  {
    ProgressLine line(where);
    std::int64_t sweep = 0;
    for (const double seconds : times)
      line.show({.sweep = sweep += sweeps / 10,
                 .sweeps = sweeps,
                 .first = 0,
                 .norm = 0.5,
                 .seconds = seconds,
                 .glups = 1.25,
                 .saved = saved});
  }
  return testing::internal::GetCapturedStderr();
}

TEST(ProgressLine, OverwritesOneLineOfATerminalAndGoesAway) {
  EXPECT_EQ(shown(Where::terminal, {1.9}), "") << "a short run";
  EXPECT_EQ(shown(Where::terminal, {1, 2, 2.4, 2.5}),
            "\rsweep 200 of 1000, norm 0.5, 1.25 GLUP/s, at most 8 s left\x1b[K"
            "\rsweep 400 of 1000, norm 0.5, 1.25 GLUP/s, at most 4 s left\x1b[K"
            "\r\x1b[K");
}

TEST(ProgressLine, GivesWayToTrouble) {
  for (const Where where : {Where::terminal, Where::log}) {
    testing::internal::CaptureStderr();
    {
      ProgressLine line(where);
      line.show({.sweep = 1,
                 .sweeps = 2,
                 .first = 0,
                 .norm = {},
                 .seconds = 60,
                 .glups = 1,
                 .saved = {}});
      line.interrupt("after 4 sweeps: no room");
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              where == Where::terminal ? "\rsweep 1 of 2, 1 GLUP/s, at most 60 s left\x1b[K\r\x1b[K"
                                         "halocline: after 4 sweeps: no room\n"
                                       : "sweep 1 of 2, 1 GLUP/s, at most 60 s left\n"
                                         "halocline: after 4 sweeps: no room\n");
  }
}

TEST(ProgressLine, IsALineAMinuteInALog) {
  EXPECT_EQ(shown(Where::log, {30, 60, 90, 3600}),
            "sweep 200 of 1000, norm 0.5, 1.25 GLUP/s, at most 4 min left\n"
            "sweep 400 of 1000, norm 0.5, 1.25 GLUP/s, at most 90 min left\n");
}

TEST(ProgressLine, FitsATerminalWithoutTheNormIfItHasTo) {
  EXPECT_EQ(
      shown(Where::terminal, {20}, 1000, 90),
      "\rsweep 100 of 1000, norm 0.5, 1.25 GLUP/s, at most 3 min left, saved 90\x1b[K\r\x1b[K");
  EXPECT_EQ(shown(Where::terminal, {20}, 1'000'000'000, 90'000'000),
            "\rsweep 100000000 of 1000000000, 1.25 GLUP/s, at most 3 min left, saved 90000000\x1b[K"
            "\r\x1b[K");
  EXPECT_EQ(shown(Where::log, {7200}, 1'000'000'000, 90'000'000),
            "sweep 100000000 of 1000000000, norm 0.5, 1.25 GLUP/s, at most 18 h 0 min left, saved "
            "90000000\n");
}

}  // namespace
}  // namespace halocline::cli
