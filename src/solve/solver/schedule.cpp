// SPDX-License-Identifier: Apache-2.0
#include "solver/schedule.hpp"

#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

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
  std::string names = "auto";
  for (const Schedule* schedule : schedules()) {
    if (schedule->name() == name) return *schedule;
    names += fmt::format(", {}", schedule->name());
  }
  throw Error(ErrorKind::usage,
              fmt::format("there is no schedule '{}'; there are: {}", name, names));
}

}  // namespace halocline::solver
