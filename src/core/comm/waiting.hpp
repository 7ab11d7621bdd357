// SPDX-License-Identifier: Apache-2.0
#pragma once
// Waits with a limit: one loop for MPI requests and for flags in memory.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <halocline/communicator.hpp>

#include "base/recorder.hpp"

namespace halocline::comm {

/// A wait's site and phase, and the text for its error.
struct Wait {
  const char* site;  ///< string literal: names the wait in profiles and traces
  Phase phase = Phase::wait;
  std::int64_t bytes = 0;
  /// Names the missing rank and message: "rank 1: field 'u', +x". Empty if all has arrived since
  /// the last poll: then the wait continues.
  std::function<std::string()> missing;
  /// No limit, for waits that depend on the other side's work; twice the limit for a rank that
  /// itself waits with the limit.
  enum class Limit { as_set, twice, none } limit = Limit::as_set;
};

/// Calls `done` until it returns true. Throws communication after the wait limit, naming the rank
/// and what it waits for. Yields the core, so there may be more ranks than cores.
void wait_until(State& state, const Wait& wait, const std::function<bool()>& done);

/// Cancels everything in flight, after a wait took too long. Returns the ranks and fields that its
/// GPUs may wait for; empty if there are none.
std::string give_up_all();

/// Keeps memory to the end of the program, because a message that this rank no longer waits for may
/// still arrive in it.
void keep_for_mpi(std::shared_ptr<const void> memory);

/// An operation in flight that needs the host to progress. While it is entered, every wait of this
/// process progresses it: the rank waited for may itself wait for this one.
class InFlight {
 public:
  InFlight() = default;
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  /// Does not block.
  virtual void move_on() = 0;
  /// After a wait of this process took too long: ends work of a GPU that no rank will answer, and
  /// names the ranks it may have waited for, "NCCL with rank 1 (field 'u', +x)"; empty if none.
  /// Must not throw.
  virtual std::string give_up() { return {}; }

 protected:
  ~InFlight() { leave(); }
  void enter();
  void leave();
};

}  // namespace halocline::comm
