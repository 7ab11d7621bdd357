// SPDX-License-Identifier: Apache-2.0
#pragma once
// Proofs that a command makes before it starts ranks, or as the first rank.

#include <optional>
#include <string>
#include <vector>

#include "probe/paths.hpp"

namespace halocline::cli {

struct ProofRequest {
  std::optional<int> ranks;         ///< that will be started here
  std::vector<probe::Path> paths;   ///< that may be used; none: nothing to prove
  std::optional<std::string> file;  ///< as ExchangeOptions::proofs
  enum class Notes { printed, none } notes = Notes::printed;
};

/// Returns the paths that these values of --transport and --memory may use only with a proof.
std::vector<probe::Path> paths_to_prove(const std::vector<std::string>& transports,
                                        const std::vector<std::string>& memories);

/// Tests in a separate job how MPI handles this machine's GPUs, unless it is known or not needed: a
/// single rank, no GPU, another transport. To be called by every rank before MPI and GPUs are used;
/// only the first rank acts. Prints notes on standard error.
void make_proofs(const ProofRequest& request);

}  // namespace halocline::cli
