// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules: the order of sweeps and exchanges, and whether kernels or the host start them.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <halocline/solver.hpp>

#include "solver/engine/stepper.hpp"

namespace halocline::solver {

class Runner;

/// A stepper, or the reason why there is none.
struct MadeStepper {
  std::unique_ptr<Stepper> stepper;
  std::string why_not = {};
  /// failed: it should have worked, so auto reports it in a note.
  enum class Reason { expected, failed } reason = Reason::expected;
};

class Schedule {
 public:
  virtual ~Schedule() = default;
  virtual std::string_view name() const = 0;
  /// Makes a stepper, with everything that its sweeps need besides the runner's levels and
  /// exchanges. Overwrites halos. The runner must outlive the stepper. Collective, the same result
  /// on every rank.
  virtual MadeStepper make(Runner& runner) const = 0;
  /// Returns its requirements, for error messages.
  virtual std::string_view needs() const { return "nothing else"; }
  /// Whether schedule_by_rule() prefers it to the schedules above it in the table, if available.
  /// Collective.
  virtual bool is_preferred(const Runner& runner) const = 0;
  /// Whether a run is long enough for the cost of making the stepper, unless a user requests it.
  /// Collective.
  virtual bool is_worth_making(const Runner&) const { return true; }
  /// Whether it differs from others only in how halos of other subdomains arrive: without such
  /// halos it is not worth measuring.
  virtual bool is_about_halos() const { return false; }
  /// Which halos of the next sweep its sweeps store.
  virtual SolveResult::HalosBySweeps halos_by_sweeps(const Runner&) const {
    return SolveResult::HalosBySweeps::none;
  }
  /// Whether it can do several sweeps in one pass over memory.
  virtual bool does_passes() const { return false; }
  /// Returns why CUDA graphs cannot record its sweeps, or nothing.
  virtual std::optional<std::string> no_graphs_because() const { return std::nullopt; }
};

/// Lists the schedules, simplest first. To add one, add a file in solver/engine/schedules, its
/// declaration in schedules.hpp there and a row in schedule.cpp, whose place is its rank in
/// schedule_by_rule().
std::span<const Schedule* const> schedules();

/// Returns the choice of auto without measurements: `persistent`, else `fused`, else `overlap`
/// where the host has to move messages on, else `sequential`. In terms of the table: the last
/// schedule that is preferred, may be tried and can be made. Collective.
const Schedule& schedule_by_rule(Runner& runner,
                                 const std::function<bool(const Schedule&)>& may_be_tried);

/// Appends a schedule from another library, which must live as long as the program. Do not call it
/// while a solve runs.
void add_schedule(const Schedule& schedule);

/// Returns the schedule of that name. Throws usage, with a list of the schedules, for other names.
const Schedule& find_schedule(std::string_view name);

}  // namespace halocline::solver
