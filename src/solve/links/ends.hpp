// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two ends of a rank's cells along the last axis, for links over which sweeps send their own
// halos.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/grid.hpp>

#include "link/kernel_watch.hpp"
#include "link/window.hpp"

namespace halocline::links {

enum End : unsigned char { at_lower, at_upper };
inline constexpr std::array ends{at_lower, at_upper};

/// Returns the end of the neighbour's cells that touches this end of ours.
constexpr End opposite(End end) { return end == at_lower ? at_upper : at_lower; }

/// The neighbours on this node beyond both ends; a rank may be its own neighbour, and one rank may
/// be at both ends.
class EndNeighbours {
 public:
  EndNeighbours(const Communicator& communicator, const Grid& grid);

  const Communicator& communicator() const { return communicator_; }
  /// Returns the rank at that end, or -1.
  int operator[](End end) const { return ranks_[static_cast<std::size_t>(end)]; }
  bool has(End end) const { return (*this)[end] >= 0; }
  /// Returns the ranks at the ends, the lower end's first.
  std::vector<int> peers() const;
  /// Returns the index in peers() of the rank at an end.
  std::size_t peer_of(End end) const { return end == at_upper && has(at_lower) ? 1 : 0; }
  /// Watches kernels that wait for these neighbours; errors name `what`: "rank 3 (halo +y)". Throws
  /// device or resource.
  link::KernelWatch watch(const std::string& what) const;

 private:
  Communicator communicator_;
  std::array<int, 2> ranks_;
  char axis_;
};

/// Memory on this rank's GPU to which the neighbours at both ends store, and theirs, mapped here.
class EndLink {
 public:
  /// `memory` is a number of bytes or existing memory, as for link::Window. The first two offsets
  /// are those of the data from beyond each end, the third one is a field's step from layer to
  /// layer. Collective; throws as link::Window does.
  template <class BytesOrMemory>
  EndLink(const EndNeighbours& neighbours, BytesOrMemory memory,
          const link::Window::Offsets& offsets)
      : neighbours_(neighbours),
        offsets_(offsets),
        window_(neighbours.communicator(), std::move(memory), neighbours.peers(),
                std::vector(neighbours.peers().size(), offsets)) {}

  /// Returns the address, in this rank's memory, of the data from beyond an end; null if no
  /// neighbour is there.
  std::byte* from(End end) const;
  /// Returns the address, in the neighbour's memory, of the data from this rank; null likewise.
  std::byte* to(End end) const;
  /// Stores patterns of `bytes` into the neighbours' memory, checks every byte that arrived here,
  /// and leaves zeros; leaves out an end from beyond which nothing `comes` on any rank. Collective;
  /// throws, the same on every rank, communication, naming the wrong byte, and unavailable if the
  /// steps of neighbours differ.
  void show_to_work(std::int64_t bytes, const std::array<bool, 2>& comes = {true, true}) const;

 private:
  EndNeighbours neighbours_;
  link::Window::Offsets offsets_;
  link::Window window_;
};

}  // namespace halocline::links
