// SPDX-License-Identifier: Apache-2.0
#pragma once
// Proofs that a command makes before it starts ranks, or as their first one.

#include <optional>
#include <string>
#include <vector>

#include "probe/paths.hpp"

namespace halocline::cli {

struct ProofRequest {
  std::optional<int> ranks;         ///< that will be started here
  std::vector<probe::Path> paths;   ///< that may be taken; none: nothing to prove
  std::optional<std::string> file;  ///< as ExchangeOptions::proofs
  enum class Notes { printed, none } notes = Notes::printed;
};

/// Paths that such --transport and --memory may take only with a proof.
std::vector<probe::Path> paths_to_prove(const std::vector<std::string>& transports,
                                        const std::vector<std::string>& memories);

/// Shows, in a job of its own, what MPI does with this machine's GPUs, unless that is known or
/// nobody needs to know: few ranks, no GPU, another transport. To be called before MPI and GPUs
/// are used, by every rank; only the first does something. Says on standard error what it does.
void make_proofs(const ProofRequest& request);

}  // namespace halocline::cli
