// SPDX-License-Identifier: Apache-2.0
#pragma once
// Combinations of memories and transports that can be timed between these ranks.

#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/memory.hpp>

#include "base/text/notes.hpp"
#include "exchange/selection/proved.hpp"
#include "solver/target.hpp"
#include "transport/transport.hpp"

namespace halocline::bench {

/// Throws usage for unknown memories.
void check_memories(const std::vector<std::string>& memories);

/// Returns the kinds of pairs between different ranks. Collective.
std::vector<transport::Pair> pairs_between_ranks(const Communicator& communicator);

/// Returns the proofs for these kinds of pairs; reads no file if none needs one. Collective.
exchange::ProvedTransports proofs_for(const Communicator& communicator,
                                      const std::vector<transport::Pair>& pairs, Memory memory,
                                      const std::optional<std::string>& file);

/// Returns why a transport is not timed for this pair and memory: it cannot serve them, or is not
/// proved. Nothing if it can be timed.
std::optional<std::string> why_not_timed(const transport::Transport& transport,
                                         transport::Pair pair, Memory memory,
                                         const exchange::ProvedTransports& proved);

struct WaysWanted {
  std::vector<std::string> memories;    ///< see solve --memory
  std::vector<std::string> transports;  ///< empty: all usable and proved ones
  std::optional<std::string> proofs;    ///< as ExchangeOptions::proofs
};

/// One memory and its transports.
struct Combination {
  solver::Target target;
  std::vector<std::string> transports;  ///< as ExchangeOptions::transport
};

/// Returns a combination for each memory, with notes about omissions. With a single memory,
/// requested transports are not checked, since an exchange reports errors itself. Starts using this
/// rank's GPU if needed. Collective; throws what solver::choose_target() throws, and unavailable if
/// no transport is left.
std::vector<Combination> find_ways(const Communicator& communicator, const WaysWanted& wanted,
                                   Notes& notes);

}  // namespace halocline::bench
