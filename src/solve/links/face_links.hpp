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
#include "exchange/part_exchange.hpp"
#include "links/ends.hpp"

namespace halocline::links {

/// Returns whether all halos of a grid's ranks go over face links; the same on every rank.
bool all_are_linked(const Communicator& communicator, const Grid& grid);

/// Selects the halos that do not: between ranks of different nodes, and those that are not beyond
/// an end of the last axis alone.
exchange::PartFilter not_linked(const Communicator& communicator, const Grid& grid);

/// For the time levels of a field: to the neighbours on the same node beyond the ends of the last
/// axis. Other halos are exchanged: not_linked().
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
  device::FaceSide side(const EndLink& level, End end) const;

  EndNeighbours neighbours_;
  int axis_;
  HaloWidths halo_;
  std::int64_t tiles_;  // of a layer, at most
  link::KernelWatch watch_;
  std::shared_ptr<void> swept_;
  EndLink flags_;
  std::vector<std::unique_ptr<EndLink>> levels_;
  std::vector<device::FacePort> ports_;
};

}  // namespace halocline::links
