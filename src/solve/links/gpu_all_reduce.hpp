// SPDX-License-Identifier: Apache-2.0
#pragma once
// All-reduces of numbers by the GPUs of a node, without the host.

#include <memory>

#include <halocline/communicator.hpp>

#include "device/all_reduce_port.hpp"
#include "link/kernel_watch.hpp"
#include "link/window.hpp"

namespace halocline::links {

class GpuAllReduce {
 public:
  /// Collective; all ranks on one node. Throws unavailable for more than
  /// device::most_ranks_to_reduce ranks or several nodes, device if GPUs cannot store into each
  /// other's memory.
  explicit GpuAllReduce(const Communicator& communicator);

  const device::AllReducePort& on_gpu() const { return all_reduce_; }

 private:
  link::KernelWatch watch_;
  link::Window window_;
  std::shared_ptr<void> to_, count_;
  device::AllReducePort all_reduce_{};
};

}  // namespace halocline::links
