// SPDX-License-Identifier: Apache-2.0
#pragma once
// The results of the available proofs of transports that need one, between the ranks of a plan.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/memory.hpp>

#include "transport/transport.hpp"

namespace halocline::exchange {

/// The result for one kind of pair.
struct Proved {
  enum class Stand { unknown, works, fails } stand = Stand::unknown;
  /// How it fails, and the fix; or why it is unknown, and how to prove it. Empty if it works, or
  /// if the machine does not have it.
  std::string words;
};

/// The results for some transports: for each one per kind of pair, in order of transport::pairs.
using ProvedTransports = std::map<const transport::Transport*, std::array<Proved, 3>>;

/// Returns the result of one of them; unknown if it was not looked up.
Proved proved_of(const ProvedTransports& proved, const transport::Transport& transport,
                 transport::Pair pair);

/// Returns the transports that need a proof and may serve such pairs with fields in `memory`, the
/// same on every rank.
std::vector<const transport::Transport*> transports_to_prove(
    const std::vector<transport::Pair>& pairs, Memory memory);

/// Reads proofs of such transports on rank 0, for the GPUs that the ranks use now and for fields in
/// `memory`; returns the same on every rank. `file` as ExchangeOptions::proofs. Collective, unless
/// there are no transports.
ProvedTransports look_up_proofs(const Communicator& communicator,
                                const std::vector<const transport::Transport*>& transports,
                                Memory memory, const std::optional<std::string>& file);

}  // namespace halocline::exchange
