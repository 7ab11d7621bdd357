// SPDX-License-Identifier: Apache-2.0
#include "comm/waiting.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/state.hpp"

namespace halocline::comm {
namespace {

// A poll takes about 50 ns: a message on its way on the node arrives within these, and no core
// is given up for it. Then the clock is read and the core offered to others at each turn.
constexpr int polls_before_yield = 200;
constexpr int yields_before_sleep = 50;
/// No busy machine keeps a rank from its core for longer: it must have been stopped.
constexpr std::chrono::milliseconds longest_turn{1500};

// All communicators' together: ranks need not wait for their exchanges in the same order.
std::vector<InFlight*> in_flight;

/// Moves on what other exchanges have in flight. Most MPIs do so only inside calls: nobody sends
/// on the node's communicator, so the probe finds nothing and does not return before it has looked
/// around.
void move_others_on(const State& state) {
  // By index, since they leave when they are done; one that is passed over has the next turn.
  for (std::size_t i = 0; i < in_flight.size(); ++i) in_flight[i]->move_on();
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, state.node(), &found, MPI_STATUS_IGNORE);
}

/// Lets others have the core. Linux lets only those of the same session profit from a yield, and
/// MPICH's launcher gives every rank its own: where ranks share cores, a rank has to sleep.
void give_way(const State& state, std::int64_t turn) {
  constexpr timespec short_while{.tv_sec = 0, .tv_nsec = 1000};  // the kernel makes it 50 us
  if (state.is_crowded() && turn >= yields_before_sleep)
    nanosleep(&short_while, nullptr);
  else
    sched_yield();
}

}  // namespace

void wait_until(State& state, const Wait& wait, const std::function<bool()>& done) {
  const Span span(state.recorder(), wait.phase, wait.site, wait.bytes);
  for (int poll = 0; poll < polls_before_yield; ++poll)
    if (done()) return;

  const double limit = wait.limit == Wait::Limit::none ? 0 : state.settings().wait_limit.count();
  auto since = Clock::now(), last = since;
  for (std::int64_t turn = 0; !done(); ++turn) {
    move_others_on(state);
    give_way(state, turn);
    if (limit <= 0) continue;
    const auto now = Clock::now();
    // A rank that was stopped itself has not waited, and shall not blame others.
    if (now - last > longest_turn) since += now - last;
    last = now;
    if (std::chrono::duration<double>(now - since).count() < limit) continue;
    if (done()) return;
    state.give_up();
    throw Error(ErrorKind::communication,
                fmt::format("rank {} has waited {:g} s in {} for {}; that rank is stopped, lost or "
                            "doing something else (option 'wait_limit' sets how long to wait)",
                            state.rank(), limit, wait.site,
                            wait.missing ? wait.missing() : "the other ranks"));
  }
}

void InFlight::enter() {
  if (std::find(in_flight.begin(), in_flight.end(), this) == in_flight.end())
    in_flight.push_back(this);
}

void InFlight::leave() {
  in_flight.erase(std::remove(in_flight.begin(), in_flight.end(), this), in_flight.end());
}

}  // namespace halocline::comm
