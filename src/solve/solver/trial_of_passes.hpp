// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs whose passes over memory may have any number of sweeps: they begin one sweep at a time, try
// passes of several once their kernels are at hand, and go on with what is faster.

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include <halocline/solver.hpp>

#include "base/text/notes.hpp"
#include "solver/engine/tuning.hpp"
#include "solver/run_files/run_pauses.hpp"

namespace halocline::solver {

/// When passes are tried, in seconds of the run, and kept. Others are for tests.
struct TrialRules {
  /// That are left. A trial records graphs and, on several ranks, opens exchanges: some 50 ms.
  double worth_a_trial = 1;
  /// That are over, and left. Compilation takes 3 to 20 s of a core, for which a run that ends
  /// meanwhile has to wait.
  double before_compiling = 2, worth_compiling = 20;
  /// Whether passes are, of these seconds a sweep.
  bool (*prefers_passes)(double by_passes, double singly) = [](double by_passes, double singly) {
    return by_passes < singly;
  };
};

class TrialOfPasses {
 public:
  struct Parts {
    const Communicator& communicator;
    const Case& the_case;
    const SolveOptions& options;
    const Target& target;
    stencil::Sweep& sweep;
    stencil::SweepOptions sweep_options;  ///< that the sweep was made with
    /// The way of single sweeps; after the run the one that its end was done by, and the times of
    /// both.
    Chosen& chosen;
  };

  static inline TrialRules rules;

  /// The parts must outlive it. Collective.
  explicit TrialOfPasses(const Parts& parts);
  TrialOfPasses(const TrialOfPasses&) = delete;
  TrialOfPasses& operator=(const TrialOfPasses&) = delete;
  /// Waits until kernels that are being compiled are.
  ~TrialOfPasses() = default;

  /// Whether there are passes to try.
  bool has_any() const { return sweeps_per_pass_ > 1; }

  /// If there are: runs the case as Runner::run() does, with these pauses. Notes why passes of
  /// several sweeps could not be tried. Collective.
  Runner::Result run(const Runner::AfterSweep& after_sweep, const RunState& start,
                     RunPauses& run_pauses, Notes& notes);

 private:
  /// Whether a stretch of the run ends, after some seconds and sweeps of it. Asked on rank 0. Null:
  /// it is the last.
  using Ends = std::function<bool(double seconds, std::int64_t sweeps)>;
  struct Stretch {
    bool is_last = false;  ///< the run has ended
    double seconds = 0, seconds_per_sweep = 0;
  };

  bool nothing_to_try() const;
  bool fit(const Case& singly) const;
  bool may_begin(double seconds, std::int64_t sweeps);
  double seconds_left(double seconds, std::int64_t sweeps) const;
  Stretch run_until(const Ends& ends, Runner& runner, const Execution& execution);
  void add(Runner::Result next);
  Execution make_passes();
  void move(const Runner& from, Runner& to);
  void report(const Stretch& singly, const Execution& passes, const Stretch& by_passes,
              bool goes_on);

  Parts parts_;
  Case with_passes_;
  std::int64_t sweeps_per_pass_ = 1;
  double trial_seconds_;  ///< of each way
  bool has_looked_ = false;
  std::unique_ptr<Runner> other_;  ///< where passes take deeper halos or more levels
  // Of the run:
  Runner::AfterSweep after_sweep_;
  RunPauses* run_pauses_ = nullptr;
  RunState at_;
  Runner::Result sum_;
  std::future<bool> compilation_;  ///< of the passes' kernels, beside single sweeps
};

}  // namespace halocline::solver
