// SPDX-License-Identifier: Apache-2.0
#pragma once
// The limit of kernels' waits for neighbours, and the error when a wait takes too long.

#include <functional>
#include <memory>
#include <string>

#include <halocline/communicator.hpp>

#include "comm/waiting.hpp"
#include "device/watch.hpp"

namespace halocline::link {

/// While it exists, every wait of this process checks whether a kernel's wait has exceeded its
/// limit.
class KernelWatch final : private comm::InFlight {
 public:
  /// `what` names an epoch in the error, "sweep {}". `name` returns the sender and content of a
  /// message: "rank 1 (field 'u', +x)".
  KernelWatch(const Communicator& communicator, std::string what,
              std::function<std::string(int message)> name);

  const device::Watch* on_gpu() const { return static_cast<const device::Watch*>(watch_.get()); }
  /// Throws communication if a kernel has waited too long. Costs a load.
  void check();

 private:
  void move_on() override { check(); }

  Communicator communicator_;
  std::string what_;
  std::function<std::string(int)> name_;
  std::shared_ptr<void> overdue_, gave_up_, watch_;
};

}  // namespace halocline::link
