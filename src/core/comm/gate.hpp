// SPDX-License-Identifier: Apache-2.0
#pragma once
// The gate for all MPI calls: checks the return code, records time and bytes by call site, and
// names the missing rank when a wait takes too long. Includes mpi.h.

#include <mpi.h>

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "comm/state.hpp"
#include "comm/waiting.hpp"

namespace halocline::comm {

/// Throws communication with MPI's own text unless `code` is success.
void check(int code, const char* call);

/// Makes a call that returns at once, such as the posting of a message.
template <class Call>
void post(State& state, const char* site, std::int64_t bytes, Call&& call) {
  require_mpi();
  const Span span(state.recorder(), Phase::call, site, bytes);
  check(std::forward<Call>(call)(), site);
}

/// Makes a call that may block inside MPI and cannot be polled; the watchdog guards it.
template <class Call>
void block(State& state, const char* site, Call&& call) {
  require_mpi();
  const Watchdog::Guard guard(state.watchdog(), site);
  const Span span(state.recorder(), Phase::other, site);
  check(std::forward<Call>(call)(), site);
}

/// Waits for all `requests`. Persistent requests stay, others become null. If the wait exceeds its
/// limit they stay active, and `memory`, which they read and write, is kept.
void wait_all(State& state, std::span<MPI_Request> requests, const Wait& wait,
              std::shared_ptr<const void> memory = nullptr);

/// Waits for the other ranks of the node, within the wait limit.
void barrier_on_node(State& state, const char* site);

}  // namespace halocline::comm
