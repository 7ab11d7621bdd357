// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which transport serves which kind of pair.

#include <array>
#include <string>
#include <vector>

#include "exchange/selection/proved.hpp"
#include "transport/transport.hpp"

namespace halocline::exchange {

/// One transport per kind of pair, in order of transport::pairs; null where no such pair exists.
using Choice = std::array<const transport::Transport*, 3>;

/// The transports a user asks for, likewise; null where the choice is left to auto.
using WantedTransports = std::array<const transport::Transport*, 3>;

/// Reads "auto", "NAME" or "KIND=NAME,..." (kinds not named: auto). A single name leaves copies
/// inside a rank to `self`. Throws usage for unknown words.
WantedTransports read_wanted(const std::string& text);

/// Which kinds of pair occur between any rank and its peers.
using PairsThere = std::array<bool, 3>;

/// What a choice depends on beside the user's wish.
struct ChoiceFacts {
  PairsThere there{};
  Memory fields = Memory::host;
  ProvedPairs proved{};  ///< what is known of transports that need a proof
  /// Not chosen by auto for such pairs: what was tried and failed, or was slower.
  std::array<std::vector<const transport::Transport*>, 3> excluded{};
};

/// Takes what is wanted and, where that is left to auto, the first transport of the table that
/// serves a pair and, if it needs a proof, has one. Throws unavailable if a wanted transport cannot
/// serve a pair that is there, or was proved to fail.
Choice choose(const WantedTransports& wanted, const ChoiceFacts& facts);

/// What auto may use for such pairs, in order of the table.
std::vector<const transport::Transport*> candidates(const ChoiceFacts& facts, transport::Pair pair);

}  // namespace halocline::exchange
