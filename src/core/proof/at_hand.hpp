// SPDX-License-Identifier: Apache-2.0
#pragma once
// The proofs available to this process.

#include <optional>
#include <string>
#include <vector>

#include "proof/environment_key.hpp"
#include "proof/records.hpp"

namespace halocline::proof {

struct ProofsAtHand {
  std::vector<Proof> proofs;              ///< with any key; see find()
  EnvironmentKey key;                     ///< of the current machine and settings
  std::vector<std::string> missing = {};  ///< "gpu_aware is not proved for same-gpu pairs: why"
  std::vector<std::string> notes = {};    ///< on files
};

/// Reads the existing proofs; starts no process.
ProofsAtHand proofs_at_hand(const std::optional<ProofsFile>& file, const Variables& variables);

}  // namespace halocline::proof
