// SPDX-License-Identifier: Apache-2.0
#pragma once
// Links over which kernels of many sweeps send the edges of a rank's cells to the neighbours'.

#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/grid.hpp>

#include "device/edge_port.hpp"
#include "transport/peer/watch.hpp"
#include "transport/peer/window.hpp"

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
  struct Ends {
    int lower, upper;  // ranks, -1 where there is none
  };
  static Ends ends_of(const Grid& grid);
  std::vector<int> peers() const;
  void link();
  void show_to_work() const;

  Communicator communicator_;
  Ends ends_;
  std::int64_t edge_bytes_;
  transport::PeerWatch watch_;
  transport::PeerWindow edges_;  // what comes from below, then what comes from above
  device::EdgePort port_{};
};

}  // namespace halocline::exchange
