#pragma once
// Which transports can be timed between which ranks.

#include <optional>
#include <string>
#include <vector>

#include <halocline/memory.hpp>

#include "exchange/proved.hpp"
#include "transport/transport.hpp"

namespace halocline::bench {

/// Says why a transport is not timed between such ranks with such memory: it cannot serve them, or
/// lacks the proof it needs. Nothing if it can be.
std::optional<std::string> why_not_timed(const transport::Transport& transport,
                                         transport::Pair pair, Memory memory,
                                         const exchange::ProvedPairs& proved);

/// What the proofs at hand say, as far as any of these kinds of pairs could need one; reads no file
/// if none could. Collective.
exchange::ProvedPairs proofs_for(const Communicator& communicator,
                                 const std::vector<transport::Pair>& pairs, Memory memory,
                                 const std::optional<std::string>& file);

/// Kinds of pairs between different ranks of these. Collective.
std::vector<transport::Pair> pairs_between_ranks(const Communicator& communicator);

/// Throws usage for a memory that there is not.
void check_memories(const std::vector<std::string>& memories);

}  // namespace halocline::bench
