// SPDX-License-Identifier: Apache-2.0
#include "proof/at_hand.hpp"

#include "proof/surroundings.hpp"

namespace halocline::proof {

ProofsAtHand proofs_at_hand(const std::optional<ProofsFile>& file, const Variables& variables) {
  Notes notes;
  ProofsAtHand at_hand{.proofs = known_proofs(file, variables, notes),
                       .key = environment_key(this_environment(variables))};
  at_hand.notes = notes.all();
  return at_hand;
}

}  // namespace halocline::proof
