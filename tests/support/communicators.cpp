// SPDX-License-Identifier: Apache-2.0
#include "support/communicators.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <gtest/gtest.h>

namespace halocline::test {
namespace {

using Key = std::tuple<std::int64_t, int, double>;
std::map<Key, Communicator> communicators;

class GivesBack : public testing::Environment {
 public:
  void TearDown() override { communicators.clear(); }
};

// gtest owns it.
const testing::Environment* const gives_back = testing::AddGlobalTestEnvironment(new GivesBack);

}  // namespace

const Communicator& communicator_with(const comm::Settings& settings) {
  comm::Settings limited = settings;
  limited.wait_limit = std::min<std::chrono::duration<double>>(settings.wait_limit, wait_limit);
  const Key key{limited.piece_bytes, limited.ranks_per_node, limited.wait_limit.count()};
  const auto found = communicators.find(key);
  if (found != communicators.end()) return found->second;
  return communicators.emplace(key, comm::world(limited)).first->second;
}

}  // namespace halocline::test
