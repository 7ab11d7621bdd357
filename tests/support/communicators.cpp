// SPDX-License-Identifier: Apache-2.0
#include "support/communicators.hpp"

#include <map>
#include <utility>

#include <gtest/gtest.h>

namespace halocline::test {
namespace {

using Key = std::pair<std::int64_t, int>;
std::map<Key, Communicator> communicators;

class GivesBack : public testing::Environment {
 public:
  void TearDown() override { communicators.clear(); }
};

// gtest owns it.
const testing::Environment* const gives_back = testing::AddGlobalTestEnvironment(new GivesBack);

}  // namespace

const Communicator& communicator_with(const comm::Settings& settings) {
  const Key key{settings.piece_bytes, settings.ranks_per_node};
  const auto found = communicators.find(key);
  if (found != communicators.end()) return found->second;
  comm::Settings limited = settings;
  limited.wait_limit = wait_limit;
  return communicators.emplace(key, comm::world(limited)).first->second;
}

}  // namespace halocline::test
