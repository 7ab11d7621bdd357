// SPDX-License-Identifier: Apache-2.0
#pragma once
// Of all ways to move halos, transports and others, those that can be used here.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "base/text/notes.hpp"
#include "bench/halo_ways.hpp"
#include "solver/case.hpp"
#include "solver/target.hpp"

namespace halocline::bench {

struct UsableWay {
  std::string name;
  const HaloWay* own = nullptr;  ///< null: a transport
  std::shared_ptr<const solver::Target> target;
  std::string transport;  ///< of the exchange that a runner makes, as ExchangeOptions::transport
};

/// What is to be run, and how halos may move.
struct WaysAsked {
  const std::vector<std::string>& names;  ///< empty: all
  const solver::Case& the_case;
  std::shared_ptr<const solver::Target> target;
  const std::optional<std::string>& proofs;
};

/// Lists them, with the targets that they need; what is left out is noted, once for all layouts.
/// Of transports that are named only an exchange tells whether they are proved.
/// Collective. Throws what solver::choose_target() throws.
std::vector<UsableWay> usable_ways(const Communicator& communicator, const WaysAsked& asked,
                                   Notes& notes);

}  // namespace halocline::bench
