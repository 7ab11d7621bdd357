// SPDX-License-Identifier: Apache-2.0
// Command lines of `halocline bench`, as far as the command goes before it starts ranks.

#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command_line.hpp"
#include "support/caught.hpp"
#include "unit/checked_command.hpp"

namespace halocline::test {
namespace {

using testing::HasSubstr;

cli::BenchCommand read_bench(const std::string& line) {
  return *cli::read_command_line(words_in("bench " + line)).bench;
}

struct Refused {
  const char* line;
  std::vector<const char*> says;
};

TEST(BenchLine, RefusesWhatMakesNoSense) {
  for (const Refused& row : std::vector<Refused>{
           {"", {"halo, step", "--help"}},
           {"haloes", {"haloes", "bench --help"}},
           {"mesh", {"'mesh'"}},
           {"p2p --ranks 1", {"one rank", "--ranks 2"}},
           {"p2p --ranks 2 --pairs 0-2", {"rank 2 ", "among 2 ranks", "use 0 to 1"}},
           {"p2p --ranks 2 --pairs 1-1", {"rank 1 "}},
           {"p2p --ranks 2 --pairs 0", {"'0' is not a list of pairs", "0-1,0-3"}},
           {"p2p --ranks 2 --pairs 0-1-2", {"not a list of pairs"}},
           {"p2p --ranks 2 --sizes 8,64k", {"'8,64k' is not a list of sizes", "64Ki"}},
           {"p2p --ranks 2 --sizes 0", {"0 bytes"}},
           {"p2p --ranks 2 --sizes 2Gi", {"2147483648 bytes", "1 to 1Gi"}},
           {"p2p --ranks 2 --window 0", {"0 messages"}},
           {"p2p --ranks 2 --seconds 0", {"0 seconds"}},
           {"p2p --ranks 2 --transport self", {"'self'"}},
           {"p2p --ranks 2 --transport auto", {"'auto'", "shared"}},
           {"p2p --ranks 2 --memory lake", {"'lake'", "device"}},
           {"p2p --ranks 2 --repetitions 2 --seconds 1", {"not both"}},
           {"p2p --ranks 2 --trace no/such/file", {"no/such/file"}},
           {"step --ranks 0", {"0 ranks"}},
           {"step --ranks 1,b", {"'1,b'", "whole numbers"}},
           {"step star7 more", {"'more'", "bench step --help"}},
           {"step soup", {"'soup'", "laplace"}},
           {"step --problem soup", {"'soup'", "laplace"}},
           {"step laplace --problem star7", {"'laplace'", "'star7'", "once"}},
           {"step star7 --ranks 2 --norm-every 1,100", {"no norm", "--norm max"}},
           {"step --ranks 2 --norm most", {"'most'", "max, l2, none"}},
           {"step --ranks 2 --cells 8x8,4y4", {"'4y4' is not a size"}},
           {"step --ranks 1,2 --process-grid 3x1", {"3x1 is for 3 ranks", "1, 2"}},
           {"step --ranks 2 --sweeps 1", {"1 sweep ", "2 or more"}},
           {"step --ranks 2 --repetitions 0", {"0 repetitions"}},
           {"step --ranks 2 --transport pigeon", {"'pigeon'", "shared"}},
           {"step --ranks 2 --graph perhaps", {"'perhaps'"}},
           {"step --ranks 2 --schedule late", {"'late'"}},
           {"step --ranks 2 --precision f16", {"'f16'"}},
           {"step --ranks 2 --norm-every 0", {"every 0 sweeps"}},
           {"step --ranks 2 --halo-depth 1,0", {"halo depth 0"}},
           {"halo --ranks 1", {"one rank has no neighbour", "--ranks 2", "--periodic"}},
           {"halo --ranks 0", {"0 ranks"}},
           {"halo --ranks 2 more", {"more", "bench halo --help"}},
           {"halo --ranks 2 --graph off,perhaps", {"--graph", "'perhaps'", "off or on"}},
           {"halo --ranks 2 --rivals pigeon", {"'pigeon'", "derived_types"}},
           {"halo --ranks 2 --transport derived_types", {"'derived_types'", "shared"}},
           {"halo --ranks 2 --width 0", {"width 0", "--width 1 or more"}},
           {"halo --ranks 2 --width 1,0", {"width 0"}},
           {"halo --ranks 2 --width 1,,2", {"'1,,2' is not a list"}},
           {"halo --ranks 2 --width 1,a", {"'1,a'", "whole numbers"}},
           {"halo --ranks 2 --width 9 --cells-per-rank 8x8",
            {"width 9 is wider than a rank's 8 cells along y", "--width 8"}},
           {"halo --width 1 --width 2", {"--width", "once"}},
           {"halo --ranks 2 --fields 0", {"0 fields", "1 to 1000"}},
           {"halo --ranks 2 --cells-per-rank 8x8,4y4", {"'4y4' is not a size"}},
           {"halo --ranks 2 --cells-per-rank 8x0", {"'8x0'", "at least 1"}},
           {"halo --ranks 2 --precision f16", {"f32, f64"}},
           {"halo --ranks 2 --transport pigeon", {"'pigeon'", "shared"}},
           {"halo --ranks 2 --memory lake", {"'lake'", "device"}},
           {"halo --ranks 2 --periodic w", {"'w'", "xy"}},
           {"halo --ranks 2 --process-grid 3x1", {"3x1", "2"}},
           {"halo --ranks 2 --process-grid 1x2 --cells-per-rank 4x4x4", {"2 axes", "have 3"}},
           {"halo --ranks 2 --repetitions 0", {"0 repetitions"}},
           {"halo --ranks 2 --seconds 0", {"0 seconds"}},
           {"halo --ranks 2 --repetitions 2 --seconds 1", {"not both"}},
           {"halo --ranks 2 --periodic xz --cells-per-rank 8x8", {"'xz'", "no axis z"}},
           {"halo --ranks 2 --wait-limit -1", {"wait limit -1"}},
           {"halo --ranks 2 --json no/such/file --cells-per-rank 8x8", {"no/such/file"}},
           {"layout --ranks 1", {"--ranks 2"}},
           {"layout --ranks 2 --steps 1,3", {"use --sweeps 33"}},
           {"layout --ranks 2 --steps 0", {"--steps 1 or more"}},
           {"layout --ranks 2 --repetitions 0", {"use 1 or more"}},
           {"layout --ranks 2 --ways mpi,pigeons",
            {"'pigeons'", "choose from: ", "shared", "derived_types", "skin_copies"}},
           {"layout --ranks 2 --layouts heap", {"brick:32x4x4"}},
           {"layout --ranks 2 --backend reference", {"auto, cpu or cuda"}},
       }) {
    const Caught error = caught([&] {
      const cli::BenchCommand command = read_bench(row.line);
      command.job.check(command.job.ranks.value_or(2));
      check(command.job.files);
    });
    EXPECT_EQ(error.kind, ErrorKind::usage) << row.line;
    for (const char* text : row.says) EXPECT_THAT(error.text, HasSubstr(text)) << row.line;
  }
}

TEST(BenchLine, StartsNeighboursUnlessALauncherHas) {
  ASSERT_EQ(std::getenv("OMPI_COMM_WORLD_RANK"), nullptr);
  for (const char* name : {"halo", "p2p", "layout --backend cpu"})
    EXPECT_EQ(read_bench(name).job.ranks, 2) << name;
  EXPECT_EQ(read_bench("halo --ranks 3").job.ranks, 3);
  EXPECT_EQ(read_bench("step --ranks 1,4,2").job.ranks, 4) << "the largest";
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  for (const char* name : {"halo", "p2p", "layout --backend cpu", "step --ranks 1,4,2"})
    EXPECT_EQ(read_bench(name).job.ranks, std::nullopt) << name;
  ::unsetenv("OMPI_COMM_WORLD_RANK");
}

}  // namespace
}  // namespace halocline::test
