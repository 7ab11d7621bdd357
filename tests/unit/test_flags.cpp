// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/flags.hpp"

namespace halocline::cli {
namespace {

TEST(Flags, StandForOptionsOfTheLibraries) {
  EXPECT_EQ(with_flags("(option 'wait_limit' sets how long to wait)"),
            "(--wait-limit sets how long to wait)");
  EXPECT_EQ(with_flags("leave option 'memory' out"), "leave --memory out");
  EXPECT_EQ(with_flags("option 'proofs'"), "--proofs");
}

TEST(Flags, ComeWithTheirValues) {
  EXPECT_EQ(with_flags("no GPU; set option 'backend' to 'cpu'"), "no GPU; use --backend cpu");
  EXPECT_EQ(with_flags("option 'simd' set to 'avx2' changes nothing"),
            "--simd avx2 changes nothing");
  EXPECT_EQ(with_flags("set option 'memory' to 'system', or set option 'graph' to 'auto'."),
            "use --memory system, or use --graph auto.");
  EXPECT_EQ(with_flags("option 'memory' to choose"), "--memory to choose");
}

TEST(Flags, LeaveOtherTextsAlone) {
  for (const char* text :
       {"", "option", "option '", "option 'memory", "option '' 'memory'", "option 'other' to 'one'",
        "mpirun option 'x', --y, option ''", "set 'backend' to 'cpu'"})
    EXPECT_EQ(with_flags(text), text);
  EXPECT_EQ(with_flags("option 'x' option 'graph' to 'on"), "option 'x' --graph to 'on");
}

}  // namespace
}  // namespace halocline::cli
