// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels' waits for neighbours: their limit, and the error of one that took too long.

#include <functional>
#include <memory>
#include <string>

#include <halocline/communicator.hpp>

#include "comm/waiting.hpp"
#include "device/watch.hpp"

namespace halocline::link {

/// While it lives, every wait of this process looks whether a kernel has given one up.
class KernelWatch final : private comm::InFlight {
 public:
  /// `name` tells what a message brings: "rank 1 (field 'u', +x)".
  /// `what` is counted by epochs in the error: "exchange", "sweep".
  KernelWatch(const Communicator& communicator, std::string what,
              std::function<std::string(int message)> name);

  const device::Watch* on_gpu() const { return static_cast<const device::Watch*>(watch_.get()); }
  /// Throws communication if a kernel waited too long. Costs a load.
  void check();

 private:
  void move_on() override { check(); }

  Communicator communicator_;
  std::string what_;
  std::function<std::string(int)> name_;
  std::shared_ptr<void> overdue_, gave_up_, watch_;
};

}  // namespace halocline::link
