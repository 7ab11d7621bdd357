// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arrays that an exchange may be given in the place of its plan's fields.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <halocline/exchange.hpp>

#include "pack/pack.hpp"

namespace halocline::exchange {

class LikeFields {
 public:
  explicit LikeFields(const FieldList& fields);
  /// Sets the bytes of the widest words that GPUs copy; 0 where none do.
  void set_word(std::int64_t bytes) { word_ = bytes; }

  /// Returns where such arrays are, for move_to(): their first owned cells. Throws usage for
  /// others, whose titles end with `whose`: " of level 1".
  std::vector<void*> places_of(const FieldList& fields, const std::string& whose = "") const;
  /// Throws usage for another number of arrays than there are fields.
  void check_count(std::size_t arrays) const;
  /// Sets where the arrays are; empty: where the fields were. Returns whether they were elsewhere
  /// before. Throws usage for addresses that GPUs cannot take.
  bool move_to(std::span<void* const> places);
  /// How far on from the fields the arrays are.
  pack::Shifts shifts() const { return shifts_; }

 private:
  /// A field without its memory, which may be gone.
  struct Like {
    std::string title;
    FieldShape shape;
    std::optional<Strides> strides;
    std::optional<Bricks> bricks;
    std::vector<Run> runs;  // of all cells, in a layout that is neither
    std::byte* place;
  };

  /// Throws usage for addresses that GPUs cannot take.
  std::int64_t shift_of(std::size_t field, const void* place) const;

  std::vector<Like> all_;
  std::int64_t word_ = 0;
  std::vector<std::int64_t> shifts_, next_;  // empty: none is shifted
};

}  // namespace halocline::exchange
