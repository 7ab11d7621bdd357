// SPDX-License-Identifier: Apache-2.0
#pragma once
// The proofs there are for this process.

#include <optional>
#include <string>
#include <vector>

#include "proof/environment_key.hpp"
#include "proof/records.hpp"

namespace halocline::proof {

struct ProofsAtHand {
  std::vector<Proof> proofs;              ///< of any key; see find()
  EnvironmentKey key;                     ///< of here and now
  std::vector<std::string> missing = {};  ///< wanted and not proved either way, and why
  std::vector<std::string> notes = {};    ///< of files
};

/// Reads the proofs there are and makes none: it starts no process.
ProofsAtHand proofs_at_hand(const std::optional<ProofsFile>& file, const Variables& variables);

}  // namespace halocline::proof
