// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans that finalisers have given up: see park() in halocline/exchange.hpp.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include <halocline/communicator.hpp>

namespace halocline::exchange {

class Parking {
 public:
  /// Returns that of a communicator, made at the first call.
  static std::shared_ptr<Parking> of(const Communicator& communicator);

  /// Returns the number of a new plan. Every rank asks in the same order.
  std::uint64_t next_number() { return ++last_number_; }
  /// Any thread may, at any time.
  void park(std::uint64_t number, std::shared_ptr<void> plan);
  /// Destroys the plans that all ranks have parked, in the order of their numbers. Collective.
  void clear(const Communicator& communicator);

 private:
  /// Returns the smallest number after that of a plan that is parked here; -1 without one.
  std::int64_t next_after(std::uint64_t number);
  std::shared_ptr<void> taken(std::uint64_t number);

  std::uint64_t last_number_ = 0;
  std::mutex one_at_a_time_;
  std::map<std::uint64_t, std::shared_ptr<void>> parked_;
};

}  // namespace halocline::exchange
