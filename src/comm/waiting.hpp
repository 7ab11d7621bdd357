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

}  // namespace halocline::comm
