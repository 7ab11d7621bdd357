// SPDX-License-Identifier: Apache-2.0
// How many threads a rank runs.

#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/process/allowed_cores.hpp"
#include "launch/job.hpp"
#include "machine/cores.hpp"
#include "support/caught.hpp"

namespace halocline::machine {
namespace {

using testing::HasSubstr;
using Cores = std::vector<std::vector<int>>;

TEST(ThreadsFor, SharesCoresThatAllMayUse) {
  const Cores unbound(3, {0, 1, 2, 3, 4, 5, 6, 7});
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(threads_for(unbound, rank), 2);
}

TEST(ThreadsFor, TakesAllOfWhatARankIsBoundTo) {
  const Cores bound{{0, 1, 2}, {3}};
  EXPECT_EQ(threads_for(bound, 0), 3);
  EXPECT_EQ(threads_for(bound, 1), 1);
}

TEST(ThreadsFor, CountsThirdsOfCoresInSpiteOfRounding) {
  EXPECT_EQ(threads_for(Cores(3, {0, 1, 2}), 0), 1);
  EXPECT_EQ(threads_for(Cores(3, {0, 1, 2, 3, 4, 5}), 2), 2);
}

TEST(ThreadsFor, IsAtLeastOneWhenRanksOutnumberCores) {
  EXPECT_EQ(threads_for(Cores(8, {0, 1}), 7), 1);
}

TEST(AllowedCores, AreSomeAndAscending) {
  const std::vector<int> cores = allowed_cores();
  ASSERT_FALSE(cores.empty());
  EXPECT_TRUE(std::is_sorted(cores.begin(), cores.end()));
}

TEST(Ranges, AreWrittenAsLinuxDoes) {
  EXPECT_EQ(ranges_of({}), "");
  EXPECT_EQ(ranges_of({5}), "5");
  EXPECT_EQ(ranges_of({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
}

TEST(Ranges, AreReadAsLinuxWritesThem) {
  using Numbers = std::vector<int>;
  EXPECT_EQ(numbers_in("0-3,8,10-11\n"), (Numbers{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(numbers_in("7"), (Numbers{7}));
  for (const char* text :
       {"", "\n", "none", "3-1", "0-x", "0+3", "-1", "0-99999999999", "0-300000"})
    EXPECT_EQ(numbers_in(text), Numbers{}) << text;
}

TEST(ThreadsIn, AreANumberOrTheFirstOfAList) {
  EXPECT_EQ(threads_in("4"), 4);
  EXPECT_EQ(threads_in("010"), 10);
  EXPECT_EQ(threads_in("1e1"), 10);
  EXPECT_EQ(threads_in(" 3 , 2"), 3);
  EXPECT_EQ(threads_in("4096"), most_threads);
}

TEST(ThreadsIn, AreNothingElse) {
  for (const char* value : {"", " ", ",2", "0", "-1", "4097", "100000", "99999999999999999999",
                            "1e400", "two", "0x4", "1.5", "4 2", "2;4"}) {
    const test::Caught error = test::caught([&] { threads_in(value); });
    EXPECT_EQ(error.kind, ErrorKind::usage) << "'" << value << "'";
    EXPECT_THAT(error.text, testing::HasSubstr("OMP_NUM_THREADS"));
  }
}

/// Not a test: what AllowedCores.AreAllThoughOpenMpBindsThisThread has another process tell.
TEST(AllowedCores, DISABLED_AreTold) {
  const JobEnd child = run_job({"cat", "/proc/self/status"}, {}, {.output = JobOutput::capture});
  std::printf("here: %s\n%s", ranges_of(allowed_cores()).c_str(), child.out.c_str());
}

TEST(AllowedCores, AreAllThoughOpenMpBindsThisThread) {
  const std::string all = ranges_of(allowed_cores());
  for (const char* variable :
       {"OMP_PROC_BIND=close", "OMP_PLACES=cores", "GOMP_CPU_AFFINITY=0-1023"}) {
    const std::string words = variable;
    const std::size_t sign = words.find('=');
    const JobEnd end =
        run_job({"/proc/self/exe", "--gtest_also_run_disabled_tests",
                 "--gtest_filter=AllowedCores.DISABLED_AreTold"},
                {{words.substr(0, sign), words.substr(sign + 1)}}, {.output = JobOutput::capture});
    EXPECT_THAT(end.out, HasSubstr("here: " + all + "\n")) << variable;
    EXPECT_THAT(end.out, HasSubstr("Cpus_allowed_list:\t" + all + "\n")) << variable;
  }
}

}  // namespace
}  // namespace halocline::machine
