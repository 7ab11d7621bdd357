#include "comm/waiting.hpp"

#include <sched.h>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/state.hpp"

namespace halocline::comm {
namespace {

// A poll takes about 50 ns: a message on its way on the node arrives within these, and no core
// is given up for it. Then the clock is read and the core offered to others at each turn.
constexpr int polls_before_yield = 200;

}  // namespace

void wait_until(State& state, const Wait& wait, const std::function<bool()>& done) {
  const Span span(state.recorder(), wait.phase, wait.site, wait.bytes);
  for (int poll = 0; poll < polls_before_yield; ++poll)
    if (done()) return;

  const double limit =
      wait.limit == Wait::Limit::none ? 0 : state.options().wait_limit.count();
  const auto since = Clock::now();
  while (!done()) {
    sched_yield();
    if (limit <= 0) continue;
    if (std::chrono::duration<double>(Clock::now() - since).count() < limit) continue;
    state.give_up();
    throw Error(ErrorKind::communication,
                fmt::format("rank {} has waited {:g} s in {} for {}; that rank is stopped, lost or "
                            "doing something else (--wait-limit sets how long to wait)",
                            state.rank(), limit, wait.site,
                            wait.missing ? wait.missing() : "the other ranks"));
  }
}

}  // namespace halocline::comm
