// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/proofs.hpp"

namespace halocline::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// "gpu_aware:device"
std::vector<std::string> proved_for(const std::vector<std::string>& transports,
                                    const std::string& memory = "auto") {
  std::vector<std::string> texts;
  for (const probe::Path& path : cli::paths_to_prove(transports, {memory}))
    texts.push_back(path.transport + ':' + std::string(name_of(path.memory)));
  return texts;
}

TEST(PathsToProve, AreThoseThatAutoMayTakeOnANode) {
  EXPECT_THAT(proved_for({"auto"}), ElementsAre("gpu_aware:device"));
  EXPECT_THAT(proved_for({"auto"}, "managed"), ElementsAre("gpu_aware:managed"));
  EXPECT_THAT(proved_for({"auto"}, "pinned"), IsEmpty());
  EXPECT_THAT(proved_for({"other-node=mpi"}), ElementsAre("gpu_aware:device"));
  EXPECT_THAT(proved_for({"same-node=auto,other-node=mpi"}), ElementsAre("gpu_aware:device"));
  EXPECT_THAT(proved_for({"same-node=staged,other-node=mpi"}), IsEmpty());
  EXPECT_THAT(proved_for({"same-node=staged"}), IsEmpty());
  EXPECT_THAT(proved_for({"staged", "mpi"}), IsEmpty());
}

TEST(PathsToProve, AreThoseThatAreNamed) {
  EXPECT_THAT(proved_for({"nccl"}), ElementsAre("nccl:device"));
  EXPECT_THAT(proved_for({"auto", "nccl"}), ElementsAre("nccl:device", "gpu_aware:device"));
  EXPECT_THAT(proved_for({"same-node=gpu_aware,other-node=mpi"}), ElementsAre("gpu_aware:device"));
}

TEST(PathsToProve, AreNoneOfUnknownNames) { EXPECT_THAT(proved_for({"automobile"}), IsEmpty()); }

}  // namespace
}  // namespace halocline::test
