// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two ends of a rank's cells along the last axis, for links over which sweeps send their own
// halos.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/grid.hpp>

namespace halocline::exchange {

enum End : unsigned char { at_lower, at_upper };
inline constexpr std::array ends{at_lower, at_upper};

/// Returns the end of the neighbour's cells that touches this end of ours.
constexpr End opposite(End end) { return end == at_lower ? at_upper : at_lower; }

/// The neighbours on this node beyond both ends; a rank may be its own neighbour, and one rank may
/// be at both ends.
class EndNeighbours {
 public:
  EndNeighbours(const Communicator& communicator, const Grid& grid);

  /// Returns the rank at that end, or -1.
  int operator[](End end) const { return ranks_[static_cast<std::size_t>(end)]; }
  bool has(End end) const { return (*this)[end] >= 0; }
  /// Returns the ranks at the ends, the lower end's first.
  std::vector<int> peers() const;
  /// Returns the index in peers() of the rank at an end.
  std::size_t peer_of(End end) const { return end == at_upper && has(at_lower) ? 1 : 0; }
  /// "rank 3 (halo +y)"
  std::string name_of(End end, const std::string& what) const;

 private:
  std::array<int, 2> ranks_;
  char axis_;
};

/// Memory of one end, which the GPU can access.
struct EndMemory {
  void* to = nullptr;    ///< in the neighbour's memory: data from this rank; null: none is sent
  void* from = nullptr;  ///< in this rank's memory: data from the neighbour; null: none comes
};

/// Stores patterns into the neighbours' memory, checks every byte that arrived here, and leaves
/// zeros. Collective; throws communication, the same on every rank, naming the wrong byte.
void show_ends_to_work(const Communicator& communicator, const EndNeighbours& neighbours,
                       const std::array<EndMemory, 2>& memory, std::int64_t bytes);

}  // namespace halocline::exchange
