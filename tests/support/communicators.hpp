// SPDX-License-Identifier: Apache-2.0
#pragma once
// Communicators that tests share: making one costs a dozen collective calls, which take their
// time where ranks outnumber cores.

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <halocline/communicator.hpp>

#include "comm/settings.hpp"

namespace halocline::test {

/// A communicator of all ranks, made when first asked for with these settings, and given back
/// after the last test. Waits end at `wait_limit` at the latest. Collective. Not for tests after
/// which it may be unusable.
const Communicator& communicator_with(const comm::Settings& settings = {});

/// The seconds after which a test is ended. The slowest takes some seconds on a busy machine, some
/// more under a sanitizer; HALOCLINE_TEST_SECONDS gives a machine that is busy with other tests
/// more.
inline unsigned test_seconds() {
  const char* given = std::getenv("HALOCLINE_TEST_SECONDS");
  return given != nullptr ? static_cast<unsigned>(std::atoi(given)) : 60;
}

/// Waits that no test should reach, on a busy machine either, yet short of that time. Ranks wait
/// for one that compiles kernels: where GPUs are emulated some take 27 s on a quiet machine.
inline const std::chrono::seconds wait_limit{std::max(30u, test_seconds() / 2)};

/// The one that most tests take.
inline const Communicator& world() { return communicator_with({.wait_limit = wait_limit}); }

}  // namespace halocline::test
