// SPDX-License-Identifier: Apache-2.0
#pragma once
// Links over which kernels that do many sweeps send the edges of a rank's cells to the neighbours'
// kernels.

#include <optional>
#include <string>

#include <halocline/communicator.hpp>
#include <halocline/grid.hpp>

#include "device/edge_port.hpp"
#include "links/ends.hpp"

namespace halocline::links {

/// For ranks that split only the last of two or three axes, on the GPUs of one node; a rank may be
/// its own neighbour.
class EdgeLinks {
 public:
  /// Returns why such ranks cannot have edge links, or nothing; the same on every rank.
  static std::optional<std::string> unavailable(const Communicator& communicator, const Grid& grid);

  /// Maps memory of the neighbours for the rows of an end, of `row_bytes` each, and checks that
  /// data stored there arrives. Collective; throws device, resource, unavailable or communication.
  EdgeLinks(const Communicator& communicator, const Grid& grid, std::int64_t row_bytes);

  const device::EdgePort& port() const { return port_; }
  /// Throws communication if a kernel has waited too long.
  void check() { watch_.check(); }

 private:
  EdgeLinks(const EndNeighbours& neighbours, std::int64_t edge_bytes);
  device::EdgeSide side(End end) const;

  link::KernelWatch watch_;
  EndLink edges_;  // data from below, then data from above
  device::EdgePort port_;
};

}  // namespace halocline::links
