// SPDX-License-Identifier: Apache-2.0
#pragma once
// The results of the available proofs of gpu_aware between the ranks of a plan.

#include <array>
#include <optional>
#include <string>

#include <halocline/communicator.hpp>
#include <halocline/memory.hpp>

#include "transport/transport.hpp"

namespace halocline::exchange {

/// The result for one kind of pair.
struct Proved {
  enum class Stand { unknown, works, fails } stand = Stand::unknown;
  std::string words;  ///< how it fails, and the fix; or why it is unknown, and how to prove it
};

/// One per kind of pair, in order of transport::pairs.
using ProvedPairs = std::array<Proved, 3>;

/// Reads proofs on rank 0 for the GPUs that the ranks use now and for fields in `memory`; returns
/// the same on every rank. `file` as ExchangeOptions::proofs. Collective.
ProvedPairs proved_pairs(const Communicator& communicator, Memory memory,
                         const std::optional<std::string>& file);

}  // namespace halocline::exchange
