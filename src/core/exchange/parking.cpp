// SPDX-License-Identifier: Apache-2.0
#include "exchange/parking.hpp"

#include "comm/collectives.hpp"
#include "comm/state.hpp"

namespace halocline::exchange {

std::shared_ptr<Parking> Parking::of(const Communicator& communicator) {
  return communicator.state().kept<Parking>([] { return std::make_shared<Parking>(); });
}

void Parking::clear(const Communicator& communicator) {
  std::uint64_t after = 0;
  for (;;) {
    const auto mine = parked_.upper_bound(after);
    const std::int64_t next = mine == parked_.end() ? -1 : static_cast<std::int64_t>(mine->first);
    const std::int64_t smallest = -comm::max_over_ranks(communicator, -next);
    if (smallest < 0) return;  // a rank has none: nor have all together
    const std::int64_t largest = comm::max_over_ranks(communicator, next);
    // Some rank has not parked the numbers before the largest.
    after = static_cast<std::uint64_t>(smallest == largest ? smallest : largest - 1);
    if (smallest == largest) parked_.erase(mine);
  }
}

}  // namespace halocline::exchange
