// SPDX-License-Identifier: Apache-2.0
#include "pack/host/copies.hpp"

#include <algorithm>
#include <functional>

#include "base/files/copy_pieces.hpp"

namespace halocline::pack {
namespace {

/// Addresses on each side are shifted by some bytes.
void copy(const Pieces& pieces, std::int64_t from_shift, std::int64_t to_shift) {
  copy_pieces(pieces.to.first + to_shift, pieces.to.stride, pieces.from.first + from_shift,
              pieces.from.stride, pieces.bytes, pieces.count);
}

}  // namespace

HostCopies::HostCopies(const std::vector<Bundle>& bundles, Direction direction,
                       const std::vector<Move>& moves)
    : direction_(direction) {
  for (const Bundle& bundle : bundles)
    packed_.push_back({pieces_of(bundle, direction, bundle.even),
                       bundle.epoch != nullptr ? bundle.odd - bundle.even : 0, bundle.epoch});
  for (const Move& move : moves)
    for (const Pieces& pieces : pieces_of(move)) moved_.push_back(pieces);
  // Faces at both ends of the same rows layer by layer: what the second one needs is in the cache.
  std::stable_sort(moved_.begin(), moved_.end(), [](const Pieces& a, const Pieces& b) {
    return std::less<>()(a.from.first, b.from.first);
  });
}

void HostCopies::run(Shifts shifts) const {
  const bool packs = direction_ == Direction::pack;
  const auto of_field = [&](const Pieces& pieces) {
    return shifts.empty() ? 0 : shifts[pieces.field];
  };
  for (const Packed& packed : packed_) {
    const bool is_odd = packed.epoch != nullptr && (*packed.epoch + (packs ? 1 : 0)) % 2 != 0;
    const std::int64_t shift = is_odd ? packed.to_odd : 0;
    for (const Pieces& pieces : packed.pieces) {
      const std::int64_t moved = of_field(pieces);
      copy(pieces, packs ? moved : shift, packs ? shift : moved);
    }
  }
  for (const Pieces& pieces : moved_) copy(pieces, of_field(pieces), of_field(pieces));
}

}  // namespace halocline::pack
