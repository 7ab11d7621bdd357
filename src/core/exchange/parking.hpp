// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans that finalisers have given up: see park() in halocline/exchange.hpp.

#include <cstdint>
#include <map>
#include <memory>

#include <halocline/communicator.hpp>

namespace halocline::exchange {

class Parking {
 public:
  /// Returns that of a communicator, made at the first call.
  static std::shared_ptr<Parking> of(const Communicator& communicator);

  /// Returns the number of a new plan. Every rank asks in the same order.
  std::uint64_t next_number() { return ++last_number_; }
  void park(std::uint64_t number, std::shared_ptr<void> plan) {
    parked_.emplace(number, std::move(plan));
  }
  /// Destroys the plans that all ranks have parked, in the order of their numbers. Collective.
  void clear(const Communicator& communicator);

 private:
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, std::shared_ptr<void>> parked_;
};

}  // namespace halocline::exchange
