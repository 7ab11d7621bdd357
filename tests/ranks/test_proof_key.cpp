// SPDX-License-Identifier: Apache-2.0
// A proof that a shell or a first rank made before MPI_Init must be found by every rank after it.

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/collectives.hpp"
#include "proof/surroundings.hpp"
#include "support/communicators.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

/// The variables that this process was started with, whatever has been set since.
Variables variables_at_start() {
  std::ifstream file("/proc/self/environ", std::ios::binary);
  std::istringstream entries(std::string{std::istreambuf_iterator<char>(file), {}});
  Variables variables;
  for (std::string entry; std::getline(entries, entry, '\0');)
    if (const std::size_t equals = entry.find('='); equals != std::string::npos)
      variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  return variables;
}

using proof::environment_key;
using proof::this_environment;

TEST(ProofKey, IsNotChangedByMpi) {
  const auto before = environment_key(this_environment(variables_at_start()));
  const auto after = environment_key(this_environment(current_variables()));
  EXPECT_EQ(before.ingredients, after.ingredients);
}

TEST(ProofKey, IsTheSameWithoutTheLaunchersVariables) {
  const Variables all = current_variables();
  Variables rest = all;
  for (const std::string& name : proof::launcher_internals(all)) rest.erase(name);
  EXPECT_EQ(environment_key(this_environment(rest)).ingredients,
            environment_key(this_environment(all)).ingredients);
  EXPECT_FALSE(proof::launcher_internals(variables_at_start()).empty());
}

TEST(ProofKey, IsTheSameOnAllRanks) {
  const std::string mine = environment_key(this_environment(current_variables())).hash;
  comm::require_same(communicator_with(), "keys of proofs", {mine});
}

}  // namespace
}  // namespace halocline::test
