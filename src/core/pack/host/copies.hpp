// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies by the host.

#include <cstdint>
#include <vector>

#include "pack/pack.hpp"
#include "pack/pieces.hpp"

namespace halocline::pack {

class HostCopies {
 public:
  HostCopies(const std::vector<Bundle>& bundles, Direction direction,
             const std::vector<Move>& moves);
  void run(Shifts shifts) const;

 private:
  /// A bundle's pieces, with the even slot.
  struct Packed {
    std::vector<Pieces> pieces;
    std::int64_t to_odd;  ///< bytes from the even slot to the odd one
    const std::uint64_t* epoch;
  };

  Direction direction_;
  std::vector<Packed> packed_;
  std::vector<Pieces> moved_;
};

}  // namespace halocline::pack
