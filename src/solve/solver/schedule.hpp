// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules: in which order sweeps and the exchanges before them are done, and by whom.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "solver/stepper.hpp"

namespace halocline::solver {

class Runner;

/// A stepper, or why there is none.
struct MadeStepper {
  std::unique_ptr<Stepper> stepper;
  std::string why_not = {};
  /// Whether it should have worked: whoever leaves the choice to auto is told then, too.
  enum class Reason { expected, failed } reason = Reason::expected;
};

class Schedule {
 public:
  virtual ~Schedule() = default;
  virtual std::string_view name() const = 0;
  /// Makes all that its sweeps need beside the runner's levels and exchanges; what the halos held
  /// is lost. The runner must outlive the stepper. Collective, the same result on every rank.
  virtual MadeStepper make(Runner& runner) const = 0;
  /// What it needs, for the text of an error.
  virtual std::string_view needs() const { return "nothing else"; }
  /// Whether schedule_by_rule() takes it, where it can be made, before those above it in the table.
  virtual bool is_preferred(const Runner& runner) const = 0;
  /// Whether it differs from others only in how the halos of other subdomains come: where there
  /// are none, it is not worth trying.
  virtual bool is_about_halos() const { return false; }
  /// Whether its sweeps store the halos of the next ones, so that there are no exchanges to time.
  virtual bool sweeps_store_halos() const { return false; }
  /// Why its sweeps cannot be recorded in graphs, or nothing.
  virtual std::optional<std::string> no_graphs_because() const { return std::nullopt; }
};

/// From the plainest on. A new one is a file in solver/schedules, its declaration in schedules.hpp
/// there and a row in schedule.cpp, whose place is its rank in schedule_by_rule().
std::span<const Schedule* const> schedules();

/// What auto takes without measuring: `persistent`, else `fused`, else `overlap` where the host has
/// to move messages on, else `sequential`. In terms of the table: the last one that is preferred,
/// may be tried and can be made. Collective.
const Schedule& schedule_by_rule(Runner& runner,
                                 const std::function<bool(const Schedule&)>& may_be_tried);

/// Appends a schedule of another library's, which must live as long as the program. Not while a
/// solve runs.
void add_schedule(const Schedule& schedule);

/// Throws usage, naming the schedules there are.
const Schedule& find_schedule(std::string_view name);

}  // namespace halocline::solver
