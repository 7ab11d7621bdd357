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

/// Reads "auto", "NAME" or "KIND=NAME,..." (kinds not named: auto). Auto takes the first transport
/// of the table that serves a pair and, if it needs a proof, has one. Throws usage for unknown
/// words, unavailable if a named transport cannot serve a pair that is there, or was proved to
/// fail. A single name leaves copies inside a rank to `self`.
Choice choose(const std::string& wanted, const ChoiceFacts& facts);

/// What auto may use for such pairs, in order of the table.
std::vector<const transport::Transport*> candidates(const ChoiceFacts& facts, transport::Pair pair);

/// Whether auto decides for such pairs.
bool is_left_to_auto(const std::string& wanted, transport::Pair pair);

}  // namespace halocline::exchange
