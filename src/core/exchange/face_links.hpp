// SPDX-License-Identifier: Apache-2.0
#pragma once
// Links over which sweeps store their outermost layers directly into the neighbours' halos.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/exchange.hpp>
#include <halocline/grid.hpp>
#include <halocline/stream.hpp>

#include "device/face_port.hpp"
#include "exchange/ends.hpp"
#include "link/kernel_watch.hpp"
#include "link/window.hpp"

namespace halocline::exchange {

/// For the time levels of a field: to the neighbours on the same node beyond the ends of the last
/// axis. Halos from others are exchanged (exchange/beside_links.hpp).
class FaceLinks {
 public:
  /// Returns why such ranks cannot have face links, or nothing; the same on every rank.
  static std::optional<std::string> unavailable(const Communicator& communicator, const Grid& grid,
                                                const FieldStorage& level);

  /// `halo`: the layers that neighbours need; the levels may hold more.
  /// Maps the neighbours' levels and checks, byte by byte, that data stored there arrives;
  /// overwrites the halos that such neighbours fill. Collective; throws device, resource or
  /// communication. Holds the levels; memory of the caller must outlive the links.
  FaceLinks(const Communicator& communicator, const Grid& grid,
            const std::vector<std::reference_wrapper<const FieldStorage>>& levels,
            const HaloWidths& halo);

  /// Returns the port for sweeps that write this level.
  const device::FacePort& port(std::size_t level) const { return ports_[level]; }
  /// Makes the stream wait until the neighbours' sweeps have stored all that they owe this rank's.
  void await(Stream stream) const;
  /// Makes it wait until the neighbours, too, have come to this call, with all earlier work done.
  void meet(Stream stream) const;
  /// Throws communication if a sweep has waited too long.
  void check() { watch_.check(); }

 private:
  void link(const FieldStorage& field);
  std::int64_t halo_at(End end) const;
  link::Window::Offsets offsets_of(const FieldStorage& field) const;
  device::FaceSide side(const link::Window& level, End end) const;

  Communicator communicator_;
  EndNeighbours neighbours_;
  int axis_;
  HaloWidths halo_;
  std::int64_t tiles_;  // of a layer, at most
  link::KernelWatch watch_;
  std::shared_ptr<void> swept_;
  link::Window flags_;
  std::vector<std::unique_ptr<link::Window>> levels_;
  std::vector<device::FacePort> ports_;
};

}  // namespace halocline::exchange
