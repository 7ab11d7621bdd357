// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choice of transports that all ranks of a plan make together, from the user's request, proofs
// and races.

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
  /// This rank's messages, by kind of pair; only their sizes matter.
  std::array<std::vector<transport::Message>, 3> messages;
  bool same_order;  ///< as ExchangeOptions::same_order
  /// As ChoiceFacts::excluded.
  std::array<std::vector<const transport::Transport*>, 3> excluded{};
};

struct Decision {
  ChoiceFacts facts;
  Choice choice;
  std::vector<std::string> notes;         ///< the transports that auto does not use, and why
  std::vector<ExchangeInfo::Race> races;  ///< the times of the transports that auto compared
};

/// Decides. Collective; throws as choose() and as a race between transports.
Decision decide(const Communicator& communicator, const DecisionInputs& inputs);

}  // namespace halocline::exchange
