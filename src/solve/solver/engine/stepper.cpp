// SPDX-License-Identifier: Apache-2.0
#include "solver/engine/stepper.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::solver {

// Of more passes than two batches have, which the host may be ahead of the GPU.
constexpr std::size_t most_held = 2048;

void Run::finish_pass(std::int64_t sweeps, std::size_t level, bool ends_early) {
  at.sweep += sweeps;
  at.level = level;
  if (held.size() == most_held) held.erase(held.begin(), held.begin() + most_held / 2);
  held.push_back({at.sweep, level, ends_early});
}

Held Run::held_at(std::int64_t sweeps) const {
  const auto place =
      std::lower_bound(held.begin(), held.end(), sweeps,
                       [](const Held& one, std::int64_t wanted) { return one.sweeps < wanted; });
  if (place == held.end() || (place == held.begin() && place->sweeps > sweeps))
    throw Error(ErrorKind::internal, fmt::format("no level holds the result of {} sweeps", sweeps));
  if (place->sweeps == sweeps) return *place;
  return place->ends_early ? Held{sweeps, place->level} : *std::prev(place);
}

}  // namespace halocline::solver
