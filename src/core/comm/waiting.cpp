// SPDX-License-Identifier: Apache-2.0
#include "comm/waiting.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/running.hpp"
#include "comm/state.hpp"

namespace halocline::comm {
namespace {

// A poll takes about 50 ns: a message in flight on the node arrives within these polls, without
// giving up the core. After them, each turn reads the clock and offers the core to others.
constexpr int polls_before_yield = 200;
constexpr int yields_before_sleep = 50;
/// A busy machine does not keep a rank from its core for longer: the rank must have been stopped.
constexpr std::chrono::milliseconds longest_turn{1500};

// Of all communicators but those for threads: ranks need not wait for their exchanges in the same
// order.
std::vector<InFlight*> in_flight;

/// Progresses other exchanges in flight. Most MPIs do so only inside calls: no rank sends on the
/// node's communicator, so the probe finds nothing, and before it returns it has progressed the
/// messages.
void move_others_on(const State& state) {
  // By index, since they leave when they are done; a skipped one gets the next turn.
  for (std::size_t i = 0; i < in_flight.size(); ++i) in_flight[i]->move_on();
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, state.node(), &found, MPI_STATUS_IGNORE);
}

/// Gives the core to others, such as threads that compute while one writes. On Linux a yield
/// benefits only processes of the same session, and MPICH's launcher gives every rank its own:
/// where ranks share cores, a rank has to sleep.
void give_way(const State& state, std::int64_t turn) {
  constexpr timespec short_while{.tv_sec = 0, .tv_nsec = 1000};  // the kernel makes it 50 us
  if (state.settings().is_for_thread || (state.is_crowded() && turn >= yields_before_sleep))
    nanosleep(&short_while, nullptr);
  else
    sched_yield();
}

}  // namespace

std::string give_up_all() {
  std::string text;
  for (InFlight* one : in_flight)
    if (const std::string waited = one->give_up(); !waited.empty())
      text += fmt::format("{}{}", text.empty() ? "" : ", ", waited);
  return text;
}

void wait_until(State& state, const Wait& wait, const std::function<bool()>& done) {
  require_mpi();
  const Span span(state.recorder(), wait.phase, wait.site, wait.bytes);
  for (int poll = 0; poll < polls_before_yield; ++poll)
    if (done()) return;

  const double times = wait.limit == Wait::Limit::none    ? 0
                       : wait.limit == Wait::Limit::twice ? 2
                                                          : 1;
  const double limit = times * state.settings().wait_limit.count();
  const bool is_for_thread = state.settings().is_for_thread;
  auto since = Clock::now(), last = since;
  for (std::int64_t turn = 0; !done(); ++turn) {
    if (!is_for_thread) move_others_on(state);
    give_way(state, turn);
    if (is_for_thread && state.has_given_up())
      throw Error(ErrorKind::communication, fmt::format("{} was given up", wait.site));
    if (limit <= 0) continue;
    const auto now = Clock::now();
    // A rank that was stopped itself has not waited, and must not report others as lost.
    if (now - last > longest_turn) since += now - last;
    last = now;
    if (std::chrono::duration<double>(now - since).count() < limit) continue;
    if (done()) return;
    std::string missing = wait.missing ? wait.missing() : "the other ranks";
    if (missing.empty()) continue;
    state.give_up();
    if (const std::string others = is_for_thread ? "" : give_up_all(); !others.empty())
      missing += fmt::format("; its GPU may wait in {}", others);
    throw Error(ErrorKind::communication,
                fmt::format("rank {} has waited {:g} s in {} for {}; that rank is stopped, lost or "
                            "doing something else (option 'wait_limit' sets how long to wait)",
                            state.rank(), limit, wait.site, missing));
  }
}

void keep_for_mpi(std::shared_ptr<const void> memory) {
  // Never freed: other ranks may still use it when this program has ended.
  static auto* const kept = new std::vector<std::shared_ptr<const void>>;
  static std::mutex one_at_a_time;
  const std::lock_guard guard(one_at_a_time);
  kept->push_back(std::move(memory));
}

void InFlight::enter() {
  if (std::find(in_flight.begin(), in_flight.end(), this) == in_flight.end())
    in_flight.push_back(this);
}

void InFlight::leave() {
  in_flight.erase(std::remove(in_flight.begin(), in_flight.end(), this), in_flight.end());
}

}  // namespace halocline::comm
