// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/recorder.hpp"

namespace halocline {
namespace {

using std::chrono::milliseconds;

const Clock::time_point origin = Clock::now();
const char* const pack_site = "pack";
const char* const wait_site = "wait (mpi)";

TEST(Recorder, AddsUpByPhaseAndBySite) {
  Recorder recorder;
  recorder.add(Phase::pack, pack_site, origin, origin + milliseconds(10), 100);
  recorder.add(Phase::wait, wait_site, origin, origin + milliseconds(5), 0);
  recorder.add(Phase::pack, pack_site, origin, origin + milliseconds(30), 300);

  EXPECT_DOUBLE_EQ(recorder.seconds(Phase::pack), 0.040);
  EXPECT_DOUBLE_EQ(recorder.seconds(Phase::wait), 0.005);
  EXPECT_EQ(recorder.seconds(Phase::compute), 0);
  ASSERT_EQ(recorder.sites().size(), 2u);
  const SiteTotals& pack = recorder.sites()[0];
  EXPECT_EQ(pack.site, pack_site);
  EXPECT_EQ(pack.phase, Phase::pack);
  EXPECT_EQ(pack.calls, 2);
  EXPECT_EQ(pack.bytes, 400);
  EXPECT_DOUBLE_EQ(pack.seconds, 0.040);
  EXPECT_DOUBLE_EQ(pack.longest_seconds, 0.030);
}

TEST(Recorder, KeepsEventsOnlyWhenTracing) {
  Recorder recorder;
  recorder.add(Phase::pack, pack_site, origin, origin + milliseconds(1), 8);
  EXPECT_TRUE(recorder.events().empty());

  recorder.set_detail(Recorder::Detail::trace);
  const Clock::time_point start = Clock::now();
  recorder.add(Phase::pack, pack_site, start, start + milliseconds(2), 16);
  ASSERT_EQ(recorder.events().size(), 1u);
  const TraceEvent& event = recorder.events()[0];
  EXPECT_EQ(event.site, pack_site);
  EXPECT_EQ(event.phase, Phase::pack);
  EXPECT_EQ(event.bytes, 16);
  EXPECT_GE(event.start_seconds, 0);
  EXPECT_DOUBLE_EQ(event.seconds, 0.002);
  EXPECT_EQ(recorder.events_dropped(), 0);
}

TEST(Recorder, ForgetsTotalsButNotTheTrace) {
  Recorder recorder;
  recorder.set_detail(Recorder::Detail::trace);
  recorder.add(Phase::compute, pack_site, origin, origin + milliseconds(1), 1);
  recorder.reset_totals();
  EXPECT_EQ(recorder.seconds(Phase::compute), 0);
  EXPECT_TRUE(recorder.sites().empty());
  EXPECT_EQ(recorder.events().size(), 1u);

  recorder.add(Phase::compute, pack_site, origin, origin + milliseconds(1), 1);
  EXPECT_EQ(recorder.sites().size(), 1u);
  EXPECT_EQ(recorder.events().size(), 2u);
}

TEST(Recorder, CountsEventsBeyondTheMostItKeeps) {
  constexpr int most = 1'000'000;
  Recorder recorder;
  recorder.set_detail(Recorder::Detail::trace);
  for (int i = 0; i < most + 3; ++i) recorder.add(Phase::wait, wait_site, origin, origin, 0);
  EXPECT_EQ(recorder.events().size(), static_cast<std::size_t>(most));
  EXPECT_EQ(recorder.events_dropped(), 3);
  EXPECT_EQ(recorder.sites()[0].calls, most + 3);
}

TEST(Recorder, TakesTheTimeOfASpan) {
  Recorder recorder;
  {
    const Span span(recorder, Phase::unpack, "unpack", 12);
    std::this_thread::sleep_for(milliseconds(2));
  }
  ASSERT_EQ(recorder.sites().size(), 1u);
  EXPECT_EQ(recorder.sites()[0].bytes, 12);
  EXPECT_GE(recorder.seconds(Phase::unpack), 0.002);
}

TEST(Recorder, NamesEveryPhase) {
  EXPECT_EQ(name_of(Phase::compute), "compute");
  EXPECT_EQ(name_of(Phase::pack), "pack");
  EXPECT_EQ(name_of(Phase::move), "move");
  EXPECT_EQ(name_of(Phase::call), "call");
  EXPECT_EQ(name_of(Phase::wait), "wait");
  EXPECT_EQ(name_of(Phase::unpack), "unpack");
  EXPECT_EQ(name_of(Phase::reduce), "reduce");
  EXPECT_EQ(name_of(Phase::other), "other");
  EXPECT_EQ(static_cast<std::size_t>(Phase::other) + 1, phase_count);
}

}  // namespace
}  // namespace halocline
