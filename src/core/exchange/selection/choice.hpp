// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choice of a transport for each kind of pair.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <halocline/exchange.hpp>

#include "exchange/selection/proved.hpp"
#include "transport/transport.hpp"

namespace halocline::exchange {

/// One transport per kind of pair, in order of transport::pairs; null where no such pair exists.
using Choice = std::array<const transport::Transport*, 3>;

/// Returns a choice as ExchangeInfo::transports has it, and back.
std::vector<std::pair<std::string, std::string>> names_of(const Choice& choice);
Choice choice_of(const ExchangeInfo& info);

/// Writes a choice as ExchangeOptions::transport requests it.
std::string text_of(const Choice& choice);

/// The transports that the user requests, likewise; null where auto chooses.
using WantedTransports = std::array<const transport::Transport*, 3>;

/// Reads "auto", "NAME" or "KIND=NAME,..." (kinds not named: auto). A single name leaves copies
/// inside a rank to `self`. Throws usage for unknown words.
WantedTransports read_wanted(const std::string& text);

/// The kinds of pair that occur between any rank and its peers.
using PairsThere = std::array<bool, 3>;

/// The facts that a choice depends on, besides the user's request.
struct ChoiceFacts {
  PairsThere there{};
  Memory fields = Memory::host;
  ProvedTransports proved{};  ///< of those that need a proof
  bool same_order = false;    ///< as ExchangeOptions::same_order
  /// Transports that auto must not use for such pairs: they failed, or were slower.
  std::array<std::vector<const transport::Transport*>, 3> excluded{};
};

/// Returns the requested transports and, where auto chooses, the first transport of the table that
/// serves the pair and, if it needs a proof, has one. Throws unavailable if a requested transport
/// cannot serve a pair that occurs, or is known to fail.
Choice choose(const WantedTransports& wanted, const ChoiceFacts& facts);

/// Returns the transports that auto may use for such pairs, in order of the table.
std::vector<const transport::Transport*> candidates(const ChoiceFacts& facts, transport::Pair pair);

}  // namespace halocline::exchange
