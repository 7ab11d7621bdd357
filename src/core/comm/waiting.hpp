// SPDX-License-Identifier: Apache-2.0
#pragma once
// Waiting for others without hanging: one loop for MPI requests and for flags in memory.

#include <chrono>
#include <functional>
#include <string>

#include <halocline/communicator.hpp>

#include "base/recorder.hpp"

namespace halocline::comm {

/// What a wait is for, should it last too long.
struct Wait {
  const char* site;  ///< string literal: names the wait in profiles and traces
  Phase phase = Phase::wait;
  std::int64_t bytes = 0;
  /// Tells who and what has not come: "rank 1: field 'u', +x". Called at most once.
  std::function<std::string()> missing;
  /// No limit, for waits whose length the other side's work decides.
  enum class Limit { as_set, none } limit = Limit::as_set;
};

/// Calls `done` until it returns true. Throws communication after the wait limit, saying which
/// rank waits for what. Yields the core, so that ranks may outnumber cores.
void wait_until(State& state, const Wait& wait, const std::function<bool()>& done);

/// Something in flight that needs the host to move on. While it is entered, every wait of this
/// process moves it, whatever is waited for: the rank waited for may itself wait for this one.
class InFlight {
 public:
  InFlight() = default;
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  /// Does not block.
  virtual void move_on() = 0;

 protected:
  ~InFlight() { leave(); }
  void enter();
  void leave();
};

}  // namespace halocline::comm
