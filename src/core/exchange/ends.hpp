// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two ends of a rank's cells along the last axis, for links over which sweeps send themselves.

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

/// The end of the neighbour's cells that lies at this end of ours.
constexpr End opposite(End end) { return end == at_lower ? at_upper : at_lower; }

/// The neighbours beyond both ends; one rank may be its own, and the same may be at both.
class EndNeighbours {
 public:
  explicit EndNeighbours(const Grid& grid);

  /// The rank there, or -1.
  int operator[](End end) const { return ranks_[static_cast<std::size_t>(end)]; }
  bool has(End end) const { return (*this)[end] >= 0; }
  /// The ranks there are, the lower end's first.
  std::vector<int> peers() const;
  /// Where the rank at an end stands in peers().
  std::size_t peer_of(End end) const { return end == at_upper && has(at_lower) ? 1 : 0; }
  /// "rank 3 (halo +y)"
  std::string name_of(End end, const std::string& what) const;

 private:
  std::array<int, 2> ranks_;
  char axis_;
};

/// Memory of one end, which the GPU reaches.
struct EndMemory {
  void* to = nullptr;    ///< the neighbour's: what it gets from this rank
  void* from = nullptr;  ///< this rank's: what it gets from the neighbour
};

/// Stores patterns into the neighbours' memory, checks every byte of what came here, and leaves
/// zeros. Collective; throws communication, the same on every rank, naming the byte.
void show_ends_to_work(const Communicator& communicator, const EndNeighbours& neighbours,
                       const std::array<EndMemory, 2>& memory, std::int64_t bytes);

}  // namespace halocline::exchange
