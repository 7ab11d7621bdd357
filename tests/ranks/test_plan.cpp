// SPDX-License-Identifier: Apache-2.0
// What a plan counts, against what a run then says of itself.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/prospects.hpp"
#include "support/communicators.hpp"
#include "support/ranks.hpp"
#include "support/small_solve.hpp"

namespace halocline::test {
namespace {

TEST(PlannedRuns, SendWhatThePlanCounts) {
  SolveOptions f32 = small("star7", {12, 16, 20}, 3), deep = small("heat", {24, 24}, 4);
  f32.precision = Precision::f32;
  deep.halo_depth = 2;
  for (SolveOptions options : {small("laplace", {64, 48}, 3), f32, small("jacobi", {40, 30}, 3),
                               deep, small("gray_scott", {40, 30}, 3)}) {
    options.backend = "cpu";
    options.transport = "mpi";
    for (const plan::Prospect& way : plan::make_plan(options, ranks()).prospects) {
      options.process_grid = way.process_grid;
      const SolveResult result = solve(world(), options);
      EXPECT_EQ(result.halo_messages, way.messages) << options.problem.name();
      EXPECT_EQ(result.halo_bytes, way.bytes) << options.problem.name();
    }
  }
}

}  // namespace
}  // namespace halocline::test
