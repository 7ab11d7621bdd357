// SPDX-License-Identifier: Apache-2.0
#pragma once
// A case on one process grid: fields and exchanges, made once and run in several ways.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <halocline/exchange.hpp>
#include <halocline/grid.hpp>

#include "base/notes.hpp"
#include "link/norm_all_reduce.hpp"
#include "solver/case.hpp"
#include "solver/graph_stepper.hpp"
#include "solver/levels.hpp"
#include "solver/schedule.hpp"
#include "solver/stopping.hpp"
#include "solver/target.hpp"
#include "solver/time_loop.hpp"

namespace halocline::solver {

struct RunnerParts {
  const Communicator& communicator;
  const Target& target;
  stencil::Sweep& sweep;
  /// Chosen among, or asked for by name, as SolveOptions has them.
  const std::string& transport;
  const std::optional<std::string>& proofs;
};

/// How a runner gives its sweeps to the stream. Every way leads to the same bits.
struct Execution {
  const Schedule* schedule = nullptr;
  Graphs graphs = Graphs::none;
};

class Runner {
 public:
  /// Allocates two zeroed levels and opens their exchanges. The parts must outlive it. Collective;
  /// throws, the same on every rank, what making fields and exchanges throws.
  Runner(const Case& the_case, const RunnerParts& parts);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  const Communicator& communicator() const { return parts_.communicator; }
  const Case& the_case() const { return case_; }
  const Target& target() const { return parts_.target; }
  stencil::Sweep& sweep() const { return parts_.sweep; }
  const Grid& grid() const { return grid_; }
  const Levels& levels() const { return levels_; }
  LevelExchange& exchange() { return exchange_; }
  const ExchangeInfo& exchange_info() const { return exchange_.info(); }
  /// What was left out that would have been used, and why.
  const Notes& notes() const { return notes_; }

  /// Why sweeps cannot be run by such a schedule, or nothing; the same on every rank. Makes what it
  /// needs, the first time; what the halos held is lost. Collective.
  std::optional<std::string> unavailable(const Schedule& schedule);
  /// Why sweeps cannot be recorded in graphs, or nothing.
  std::optional<std::string> no_graphs_because() const;
  /// Why kernels cannot store into the memory of every neighbour, or nothing.
  std::optional<std::string> kernels_cannot_reach_because() const;
  /// Whether the host has to move halos on while they are exchanged.
  bool needs_progress() const;
  /// Whether norms are reduced without the host.
  bool norms_stay_on_gpus() const { return norms_stay_; }
  /// Sweeps that are given to a GPU at once, and from one look at norms to the next; 1 where the
  /// host looks at every one.
  std::int64_t batch_sweeps() const;

  struct Result {
    LoopResult loop;
    std::unique_ptr<Stopping> stopping;
  };
  using AfterSweep = std::function<void(std::int64_t sweep, const Stopping& stopping)>;
  /// Begins where `start` says, with the levels as they are then. `the_case` may differ from the
  /// runner's own in sweeps and tolerance, and must outlive the result. Collective.
  Result run(const Case& the_case, const Execution& execution, const AfterSweep& after_sweep,
             const RunState& start = {});

  /// Start and boundary. Collective if there is a file to start from.
  void fill(int threads);
  /// Numbers that take as long as any: of zeros, sweeps on a GPU took 0.83 of the time.
  void fill_for_trial(int threads);

 private:
  const MadeStepper& stepper_of(const Schedule& schedule);
  void make_all_reduce();
  std::unique_ptr<Stopping> stopping_for(const Case& the_case, const RunState& start) const;

  RunnerParts parts_;
  Case case_;
  Grid grid_;
  Levels levels_;
  LevelExchange exchange_;
  bool norms_stay_ = false;
  std::optional<link::NormAllReduce> all_reduce_;
  std::map<const Schedule*, MadeStepper> steppers_;  // those that were asked for
  Notes notes_;
};

}  // namespace halocline::solver
