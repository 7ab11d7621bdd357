// SPDX-License-Identifier: Apache-2.0
#pragma once
// Links over which kernels of many sweeps send the edges of a rank's cells to the neighbours'.

#include <optional>
#include <string>

#include <halocline/communicator.hpp>
#include <halocline/grid.hpp>

#include "device/edge_port.hpp"
#include "exchange/ends.hpp"
#include "link/kernel_watch.hpp"
#include "link/window.hpp"

namespace halocline::exchange {

/// Between ranks that split the last of two axes only, on the GPUs of one node; one rank may be its
/// own neighbour.
class EdgeLinks {
 public:
  /// Why such ranks cannot have them, or nothing; the same on every rank.
  static std::optional<std::string> unavailable(const Communicator& communicator, const Grid& grid);

  /// Maps memory of the neighbours for rows of `row_bytes` and shows that what goes there arrives.
  /// Collective; throws device, resource, unavailable or communication.
  EdgeLinks(const Communicator& communicator, const Grid& grid, std::int64_t row_bytes);

  const device::EdgePort& port() const { return port_; }
  /// Throws communication if a kernel waited too long.
  void check() { watch_.check(); }

 private:
  device::EdgeSide side(End end) const;

  EndNeighbours neighbours_;
  std::int64_t edge_bytes_;
  link::KernelWatch watch_;
  link::Window edges_;  // what comes from below, then what comes from above
  device::EdgePort port_;
};

}  // namespace halocline::exchange
