// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ways to move halos that can be used here, transports and others.

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

/// The requested ways, and the case to run.
struct WaysAsked {
  const std::vector<std::string>& names;  ///< empty: all
  const solver::Case& the_case;
  std::shared_ptr<const solver::Target> target;
  const std::optional<std::string>& proofs;
};

/// Lists usable ways with their targets, and notes omissions once for all layouts. Proofs of
/// requested transports are checked only by the exchange. Collective. Throws what
/// solver::choose_target() throws.
std::vector<UsableWay> usable_ways(const Communicator& communicator, const WaysAsked& asked,
                                   Notes& notes);

}  // namespace halocline::bench
