// SPDX-License-Identifier: Apache-2.0
#include "bench/layout_trial.hpp"

#include "comm/collectives.hpp"
#include "solver/engine/levels.hpp"

namespace halocline::bench {
namespace {

LayoutTrial::Times times_of(const Recorder& recorder, const solver::LoopResult& done) {
  return {.loop = done.loop_seconds,
          .phases = {recorder.seconds(Phase::compute),
                     recorder.seconds(Phase::pack) + recorder.seconds(Phase::unpack),
                     recorder.seconds(Phase::move), recorder.seconds(Phase::call),
                     recorder.seconds(Phase::wait)}};
}

}  // namespace

LayoutTrial::LayoutTrial(const LayoutTrialParts& parts)
    : communicator_(parts.communicator),
      prepared_(parts.way.own != nullptr && parts.way.own->prepare != nullptr
                    ? parts.way.own->prepare(*parts.way.target)
                    : nullptr),
      runner_(parts.layout.the_case, {.communicator = parts.communicator,
                                      .target = *parts.way.target,
                                      .sweep = parts.sweep,
                                      .transport = parts.way.transport,
                                      .proofs = parts.proofs}) {
  runner_.fill(parts.threads);
  if (parts.way.own == nullptr) return;
  mover_ = parts.way.own->make(runner_);
  moved_sweeps_ = std::make_unique<MovedSweeps>(*parts.way.own, *mover_);
}

LayoutTrial::Times LayoutTrial::run(std::int64_t sweeps) {
  using Next = solver::Pauses::Next;
  const solver::Execution execution{
      .schedule = moved_sweeps_ ? moved_sweeps_.get() : &solver::find_schedule("sequential")};
  // Further sweeps follow, as the last sweep of a run has no redundant updates.
  solver::Case longer = runner_.the_case();
  longer.sweeps = sweeps + longer.halo_depth;
  const solver::Pauses pauses{.intervals = {sweeps + 1},
                              .on_pause = [](std::int64_t done, std::size_t, solver::Stopping&) {
                                return done == 0 ? Next::resume : Next::end;
                              }};
  const auto after_sweep = [](std::int64_t, const solver::Stopping&) {};
  const solver::RunState start{.level = level_, .norms = {}};
  const solver::LoopResult done = runner_.run(longer, execution, after_sweep, start, pauses).loop;
  level_ = done.level;
  return times_of(comm::recorder(communicator_), done);
}

solver::Level LayoutTrial::newest() const {
  return solver::seen_by_host(runner_.levels()[level_], runner_.grid());
}

std::int64_t LayoutTrial::messages() const {
  return mover_ ? mover_->messages : runner_.exchange_info().messages;
}

std::int64_t LayoutTrial::bytes() const {
  return mover_ ? mover_->bytes : runner_.exchange_info().bytes;
}

std::int64_t LayoutTrial::pieces() const { return mover_ ? mover_->pieces : 0; }

}  // namespace halocline::bench
