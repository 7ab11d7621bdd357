// SPDX-License-Identifier: Apache-2.0
#pragma once
// Communicators that tests share: making one costs a dozen collective calls, which take their
// time where ranks outnumber cores.

#include <halocline/communicator.hpp>

#include "comm/settings.hpp"

namespace halocline::test {

/// A communicator of all ranks, made when first asked for with these settings, and given back
/// after the last test. Waits end at `wait_limit` at the latest. Collective. Not for tests after
/// which it may be unusable.
const Communicator& communicator_with(const comm::Settings& settings = {});

/// Waits that no test should reach, on a busy machine either, yet short of the time after which a
/// test is ended.
inline constexpr std::chrono::seconds wait_limit{30};

/// The one that most tests take.
inline const Communicator& world() { return communicator_with({.wait_limit = wait_limit}); }

}  // namespace halocline::test
