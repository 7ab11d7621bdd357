// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choice of transports that all ranks of a plan make together: what was asked for, what is
// proved, and what is faster.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <halocline/exchange.hpp>

#include "exchange/selection/choice.hpp"
#include "transport/transport.hpp"

namespace halocline::exchange {

struct DecisionInputs {
  WantedTransports wanted;
  const std::optional<std::string>& proofs;  ///< as ExchangeOptions::proofs
  PairsThere there;
  Memory fields;
  /// This rank's, by kind of pair; only their sizes matter.
  std::array<std::vector<transport::Message>, 3> messages;
  /// As ChoiceFacts::excluded.
  std::array<std::vector<const transport::Transport*>, 3> excluded{};
};

struct Decision {
  ChoiceFacts facts;
  Choice choice;
  std::vector<std::string> notes;         ///< what auto left out, and why
  std::vector<ExchangeInfo::Race> races;  ///< the times of those that auto chose among
};

/// Collective; throws what choose() throws, and what a race between transports throws.
Decision decide(const Communicator& communicator, const DecisionInputs& inputs);

}  // namespace halocline::exchange
