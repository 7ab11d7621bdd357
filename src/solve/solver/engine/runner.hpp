// SPDX-License-Identifier: Apache-2.0
#pragma once
// A case on one process grid: time levels and exchanges, made once, for any number of runs.

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <halocline/exchange.hpp>
#include <halocline/grid.hpp>

#include "base/text/notes.hpp"
#include "exchange/selection/choice.hpp"
#include "links/gpu_all_reduce.hpp"
#include "solver/case.hpp"
#include "solver/engine/graph_stepper.hpp"
#include "solver/engine/levels.hpp"
#include "solver/engine/schedule.hpp"
#include "solver/engine/stopping.hpp"
#include "solver/engine/time_loop.hpp"
#include "solver/target.hpp"
#include "stencil/ghosts.hpp"

namespace halocline::solver {

struct RunnerParts {
  const Communicator& communicator;
  const Target& target;
  stencil::Sweep& sweep;
  /// "auto" or names, as in SolveOptions.
  const std::string& transport;
  const std::optional<std::string>& proofs;
};

/// How a runner queues its sweeps. All executions compute the same bits.
struct Execution {
  const Schedule* schedule = nullptr;
  Graphs graphs = Graphs::none;
  std::int64_t sweeps_per_pass = 1;  ///< the most of a pass over memory
};

class Runner {
 public:
  /// Allocates zeroed levels and coefficients and opens their exchanges. The parts must outlive it.
  /// Collective. Throws, the same on every rank, as the constructors of Field and Exchange do, and
  /// resource if the levels do not fit in memory.
  Runner(const Case& the_case, const RunnerParts& parts);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  const Communicator& communicator() const { return parts_.communicator; }
  const Case& the_case() const { return case_; }
  const Target& target() const { return parts_.target; }
  stencil::Sweep& sweep() const { return parts_.sweep; }
  const Grid& grid() const { return grid_; }
  /// Periodic axes that sweeps wrap around by themselves, since a rank has them whole.
  const std::array<bool, 3>& wrapped() const { return wrapped_; }
  /// The grid of exchanges, which has no neighbours along those.
  const Grid& exchange_grid() const { return exchange_grid_; }
  const Levels& levels() const { return levels_; }
  const Level& coefficients() const { return coefficients_; }
  /// Null if no ghosts change.
  stencil::ChangingGhosts* changing_ghosts() const { return changing_ghosts_.get(); }
  LevelExchange& exchange() { return exchange_; }
  const std::optional<std::string>& proofs() const { return parts_.proofs; }
  const ExchangeInfo& exchange_info() const { return exchange_.info(); }
  /// The transports of the exchange, by kind of pair.
  const exchange::Choice& transports() const { return transports_; }
  /// Fallbacks, with reasons.
  const Notes& notes() const { return notes_; }

  /// Returns why the schedule cannot run these sweeps, or nothing; the same on every rank. The
  /// first call makes the stepper, which overwrites halos. Collective.
  std::optional<std::string> unavailable(const Schedule& schedule);
  /// Returns why CUDA graphs cannot record the sweeps, or nothing.
  std::optional<std::string> no_graphs_because() const;
  /// Returns why kernels cannot write to the memory of every neighbour, or of every neighbour on
  /// the same node; nothing if they can.
  enum class Neighbour { any, on_node };
  std::optional<std::string> kernels_cannot_reach_because(Neighbour which) const;
  /// Whether calls on the stream carry messages between nodes.
  bool calls_between_nodes() const;
  /// Whether exchanges need the host to advance them.
  bool needs_progress() const;
  /// Returns why passes over memory cannot be of several sweeps, or nothing.
  std::optional<std::string> no_passes_because() const;
  /// Lets passes have several sweeps, for which the levels are already deep and many enough, and
  /// the sweep's kernels made. Steppers that were made remain. Collective.
  void allow_passes(std::int64_t sweeps);
  /// Returns the most sweeps of a pass: at most the case's, 1 where they cannot be.
  std::int64_t sweeps_per_pass() const { return sweeps_per_pass_; }
  /// Whether the GPUs reduce norms without the host.
  bool norms_stay_on_gpus() const { return norms_stay_; }
  /// Returns how long kernels of ghosts and of the steppers made so far took to compile.
  double compile_seconds() const;
  /// Returns how many sweeps the host queues on a GPU between two reads of norms; 1 where it reads
  /// the norm of every sweep.
  std::int64_t batch_sweeps() const;

  struct Result {
    LoopResult loop;
    std::unique_ptr<Stopping> stopping;
  };
  using AfterSweep = std::function<void(std::int64_t sweep, const Stopping& stopping)>;
  /// Runs sweeps from state `start` on, with the levels as they are. `the_case` may differ from the
  /// runner's own in sweeps and tolerance, and must outlive the result. Collective.
  Result run(const Case& the_case, const Execution& execution, const AfterSweep& after_sweep,
             const RunState& start = {}, const Pauses& pauses = {});

  /// Fills levels and coefficients: see fill_levels(). Collective if the case starts from a file.
  void fill(int threads);
  /// Fills the levels with numbers for timing: over zeros, sweeps on a GPU took 0.83 of the time.
  void fill_for_trial(int threads);

 private:
  const MadeStepper& stepper_of(const Schedule& schedule);
  void make_all_reduce();
  void limit_passes();
  std::string open_gather();
  std::unique_ptr<Stopping> stopping_for(const Case& the_case, const RunState& start,
                                         std::int64_t sweeps_per_pass) const;

  RunnerParts parts_;
  Case case_;
  Grid grid_;
  Level coefficients_;
  Levels levels_;
  std::array<bool, 3> wrapped_;
  Grid exchange_grid_;
  stencil::Ghosts ghosts_;
  std::unique_ptr<stencil::ChangingGhosts> changing_ghosts_;
  LevelExchange exchange_;
  exchange::Choice transports_;
  bool norms_stay_ = false;
  std::int64_t sweeps_per_pass_ = 1;
  std::optional<links::GpuAllReduce> all_reduce_;
  std::unique_ptr<transport::Gather> gather_;
  std::map<const Schedule*, MadeStepper> steppers_;  // those made so far
  Notes notes_;
};

}  // namespace halocline::solver
