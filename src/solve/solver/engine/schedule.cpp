// SPDX-License-Identifier: Apache-2.0
#include "solver/engine/schedule.hpp"

#include <algorithm>
#include <vector>

#include "base/text/find_named.hpp"
#include "solver/engine/runner.hpp"
#include "solver/engine/schedules/schedules.hpp"

namespace halocline::solver {
namespace {

std::vector<const Schedule*>& table() {
  static std::vector<const Schedule*> all{&sequential_schedule(), &overlap_schedule(),
                                          &fused_schedule(), &persistent_schedule()};
  return all;
}

}  // namespace

std::span<const Schedule* const> schedules() { return table(); }

const Schedule& schedule_by_rule(Runner& runner,
                                 const std::function<bool(const Schedule&)>& may_be_tried) {
  const std::span<const Schedule* const> all = schedules();
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Schedule* schedule) {
    return schedule->is_preferred(runner) && may_be_tried(*schedule) &&
           !runner.unavailable(*schedule);
  });
  return found == all.rend() ? *all.front() : **found;
}

void add_schedule(const Schedule& schedule) { table().push_back(&schedule); }

const Schedule& find_schedule(std::string_view name) {
  return find_named("schedule", name, schedules(), &Schedule::name, "auto");
}

}  // namespace halocline::solver
