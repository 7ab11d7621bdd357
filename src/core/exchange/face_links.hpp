// SPDX-License-Identifier: Apache-2.0
#pragma once
// Links over which sweeps store their outermost layers into the neighbours' halos themselves.

#include <array>
#include <memory>
#include <optional>
#include <string>

#include <halocline/communicator.hpp>
#include <halocline/exchange.hpp>
#include <halocline/grid.hpp>

#include "device/face_port.hpp"
#include "exchange/ends.hpp"
#include "link/kernel_watch.hpp"
#include "link/window.hpp"

namespace halocline::exchange {

/// Between the two time levels of ranks that split the last axis only, on the GPUs of one node.
class FaceLinks {
 public:
  /// Why such ranks cannot have them, or nothing; the same on every rank.
  static std::optional<std::string> unavailable(const Communicator& communicator, const Grid& grid,
                                                const FieldStorage& level);

  /// Maps the neighbours' levels and shows, byte by byte, that what goes there arrives; what the
  /// halos along the last axis held is lost. Collective; throws device, resource or communication.
  /// The levels' memory must outlive the links.
  FaceLinks(const Communicator& communicator, const Grid& grid,
            const std::array<std::reference_wrapper<const FieldStorage>, 2>& levels);

  /// For sweeps that write this level.
  const device::FacePort& port(std::size_t level) const { return ports_[level]; }
  /// Throws communication if a sweep waited too long.
  void check() { watch_.check(); }

 private:
  void link(std::size_t level, const FieldStorage& field);
  device::FaceSide side(std::size_t level, End end) const;

  Communicator communicator_;
  EndNeighbours neighbours_;
  int axis_;
  std::int64_t warps_;  // of a layer, at most
  link::KernelWatch watch_;
  std::shared_ptr<void> swept_;
  link::Window flags_;
  std::array<std::unique_ptr<link::Window>, 2> levels_;
  std::array<device::FacePort, 2> ports_{};
};

}  // namespace halocline::exchange
