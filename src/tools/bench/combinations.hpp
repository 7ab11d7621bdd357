// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memories, and the transports that can be timed with them between these ranks.

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

/// Throws usage for a memory that there is not.
void check_memories(const std::vector<std::string>& memories);

/// Kinds of pairs between different ranks. Collective.
std::vector<transport::Pair> pairs_between_ranks(const Communicator& communicator);

/// What the proofs at hand say, as far as any of these kinds of pairs could need one; reads no file
/// if none could. Collective.
exchange::ProvedTransports proofs_for(const Communicator& communicator,
                                      const std::vector<transport::Pair>& pairs, Memory memory,
                                      const std::optional<std::string>& file);

/// Says why a transport is not timed between such ranks with such memory: it cannot serve them, or
/// lacks the proof it needs. Nothing if it can be.
std::optional<std::string> why_not_timed(const transport::Transport& transport,
                                         transport::Pair pair, Memory memory,
                                         const exchange::ProvedTransports& proved);

struct WaysWanted {
  std::vector<std::string> memories;    ///< as solve --memory
  std::vector<std::string> transports;  ///< empty: all that can be used and are proved
  std::optional<std::string> proofs;    ///< as ExchangeOptions::proofs
};

/// One memory, and how to exchange it.
struct Combination {
  solver::Target target;
  std::vector<std::string> transports;  ///< as ExchangeOptions::transport
};

/// One for each memory; what is left out is noted. With one memory, transports that were named are
/// not looked at: an exchange itself says what it cannot do. Starts using this rank's GPU where one
/// is wanted. Collective; throws what solver::choose_place() throws, and unavailable if no
/// transport is left.
std::vector<Combination> find_ways(const Communicator& communicator, const WaysWanted& wanted,
                                   Notes& notes);

}  // namespace halocline::bench
