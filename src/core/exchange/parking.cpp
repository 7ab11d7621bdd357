// SPDX-License-Identifier: Apache-2.0
#include "exchange/parking.hpp"

#include <utility>

#include "comm/collectives.hpp"
#include "comm/state.hpp"

namespace halocline::exchange {

std::shared_ptr<Parking> Parking::of(const Communicator& communicator) {
  return communicator.state().kept<Parking>([] { return std::make_shared<Parking>(); });
}

void Parking::park(std::uint64_t number, std::shared_ptr<void> plan) {
  const std::lock_guard guard(one_at_a_time_);
  parked_.emplace(number, std::move(plan));
}

std::int64_t Parking::next_after(std::uint64_t number) {
  const std::lock_guard guard(one_at_a_time_);
  const auto next = parked_.upper_bound(number);
  return next == parked_.end() ? -1 : static_cast<std::int64_t>(next->first);
}

std::shared_ptr<void> Parking::taken(std::uint64_t number) {
  const std::lock_guard guard(one_at_a_time_);
  return std::move(parked_.extract(number).mapped());
}

void Parking::clear(const Communicator& communicator) {
  std::uint64_t after = 0;
  for (;;) {
    const std::int64_t next = next_after(after);
    const std::int64_t smallest = -comm::max_over_ranks(communicator, -next);
    if (smallest < 0) return;  // a rank has none: nor have all together
    const std::int64_t largest = comm::max_over_ranks(communicator, next);
    // Some rank has not parked the numbers before the largest.
    after = static_cast<std::uint64_t>(smallest == largest ? smallest : largest - 1);
    if (smallest == largest) taken(after).reset();
  }
}

}  // namespace halocline::exchange
