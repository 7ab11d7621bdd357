// SPDX-License-Identifier: Apache-2.0
#include "solver/schedule.hpp"

#include <vector>

#include "base/find_named.hpp"
#include "solver/schedules/schedules.hpp"

namespace halocline::solver {
namespace {

std::vector<const Schedule*>& table() {
  static std::vector<const Schedule*> all{&sequential_schedule(), &overlap_schedule(),
                                          &fused_schedule(), &persistent_schedule()};
  return all;
}

}  // namespace

std::span<const Schedule* const> schedules() { return table(); }

void add_schedule(const Schedule& schedule) { table().push_back(&schedule); }

const Schedule& find_schedule(std::string_view name) {
  return find_named("schedule", name, schedules(), &Schedule::name, "auto");
}

}  // namespace halocline::solver
