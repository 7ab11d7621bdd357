// SPDX-License-Identifier: Apache-2.0
#include "pack/cuda/segments.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "device/port.hpp"

namespace halocline::pack::cuda {
namespace {

// If pieces are longer, a segment is part of one; groups of more are not formed: numbers must stay
// small enough for Divisor.
constexpr std::int64_t longest_piece = 16384, most_pieces = 32768;

/// Groups of pieces, as far from each other.
struct Groups {
  SegmentSide from, to;
  std::int64_t bytes, count;  ///< of a piece; pieces of a group
  std::size_t field;          ///< its number
  std::int64_t groups = 1;
  bool has_twin = false;

  /// Without those of the twin.
  std::int64_t all_bytes() const { return bytes * count * groups; }
};

std::uint64_t bits(const std::byte* address) { return reinterpret_cast<std::uintptr_t>(address); }
std::uint64_t bits(std::int64_t bytes) { return static_cast<std::uint64_t>(bytes); }

/// Returns the widest word, at most 16 bytes, to which all of these are aligned.
std::int64_t word_for(std::uint64_t together) {
  std::int64_t word = 16;
  while (word > 1 && together % static_cast<std::uint64_t>(word) != 0) word /= 2;
  return word;
}

/// The side of pieces that is in a slot; null where none is.
using SlotSide = PieceSide Pieces::*;

bool continues(const SegmentSide& last, const Groups& all, const PieceSide& next) {
  if (all.count > 1 && last.of_piece != next.stride) return false;
  return all.groups == 1 || next.first == last.first + all.groups * last.of_group;
}

/// Whether pieces are as far from those before them as those from each other. In a slot there must
/// be no gap between groups, so that a byte's place in it is its number.
bool continue_groups(const Groups& last, const Pieces& next, SlotSide slot) {
  if (last.field != next.field || last.bytes != next.bytes || last.count != next.count)
    return false;
  if (next.bytes > longest_piece || next.count > most_pieces) return false;
  if (slot != nullptr) {
    const SegmentSide& side = slot == &Pieces::from ? last.from : last.to;
    if ((next.*slot).first != side.first + last.all_bytes()) return false;
  }
  return continues(last.from, last, next.from) && continues(last.to, last, next.to);
}

std::vector<Groups> groups_of(const std::vector<Pieces>& all, SlotSide slot = nullptr) {
  std::vector<Groups> groups;
  for (const Pieces& pieces : all) {
    if (groups.empty() || !continue_groups(groups.back(), pieces, slot)) {
      groups.push_back({{pieces.from.first, pieces.from.stride, 0, 0},
                        {pieces.to.first, pieces.to.stride, 0, 0},
                        pieces.bytes,
                        pieces.count,
                        pieces.field});
      continue;
    }
    Groups& last = groups.back();
    if (last.groups == 1) {
      last.from.of_group = pieces.from.first - last.from.first;
      last.to.of_group = pieces.to.first - last.to.first;
    }
    ++last.groups;
  }
  return groups;
}

bool are_near(const SegmentSide& a, const SegmentSide& b) {
  return a.of_piece == b.of_piece && a.of_group == b.of_group &&
         std::abs(a.first - b.first) < a.of_piece;
}

bool are_twins(const Groups& a, const Groups& b) {
  constexpr std::int64_t longest = 16;
  return a.field == b.field && a.bytes <= longest && a.count > 1 && a.bytes == b.bytes &&
         a.count == b.count && a.groups == b.groups && are_near(a.from, b.from) &&
         are_near(a.to, b.to);
}

/// Joins groups of short pieces, in the same rows of a field, to one whose words take turns.
std::vector<Groups> with_twins(const std::vector<Groups>& all) {
  std::vector<Groups> joined;
  for (const Groups& one : all) {
    const auto twin = std::find_if(joined.begin(), joined.end(), [&](const Groups& other) {
      return !other.has_twin && are_twins(one, other);
    });
    if (twin == joined.end()) {
      joined.push_back(one);
      continue;
    }
    twin->has_twin = true;
    twin->from.of_twin = one.from.first - twin->from.first;
    twin->to.of_twin = one.to.first - twin->to.first;
  }
  return joined;
}

std::byte* address_of(const SegmentSide& side, std::int64_t group, std::int64_t piece) {
  return side.first + group * side.of_group + piece * side.of_piece;
}

/// The bytes [from, from + bytes) of groups.
struct Cut {
  const Groups* groups;
  std::int64_t from, bytes;

  bool is_in_one_piece() const { return from % groups->bytes + bytes <= groups->bytes; }
  std::int64_t words(std::int64_t word) const { return bytes / word * (groups->has_twin ? 2 : 1); }

  std::int64_t word() const {
    const Groups& all = *groups;
    const std::int64_t piece = from / all.bytes, within = from % all.bytes;
    const std::int64_t group = piece / all.count, in_group = piece % all.count;
    std::uint64_t together = bits(address_of(all.from, group, in_group) + within) |
                             bits(address_of(all.to, group, in_group) + within) | bits(bytes) |
                             bits(all.from.of_twin) | bits(all.to.of_twin);
    if (!is_in_one_piece()) {
      together |= bits(within) | bits(all.bytes);
      if (all.count > 1) together |= bits(all.from.of_piece) | bits(all.to.of_piece);
      if (all.groups > 1) together |= bits(all.from.of_group) | bits(all.to.of_group);
    }
    return word_for(together);
  }

  Segment segment(std::int64_t word, std::uint32_t before) const {
    const Groups& all = *groups;
    const std::int64_t piece = from / all.bytes, within = from % all.bytes;
    const std::int64_t group = piece / all.count, in_group = piece % all.count;
    const auto begin = [&](SegmentSide side, std::int64_t at_piece, std::int64_t at_byte) {
      side.first = address_of(side, group, at_piece) + at_byte;
      return side;
    };
    Segment segment{};
    segment.before = before;
    segment.has_twin = all.has_twin ? 1 : 0;
    // Where there are more fields, none of them moves.
    if (all.field < most_moved_on_gpus) segment.field = static_cast<std::uint16_t>(all.field);
    segment.per_piece = segment.per_group = Divisor::of_all();
    if (is_in_one_piece()) {
      segment.from = begin(all.from, in_group, within);
      segment.to = begin(all.to, in_group, within);
      return segment;
    }
    segment.per_piece = Divisor(static_cast<std::uint32_t>(all.bytes / word));
    segment.skip_words = static_cast<std::uint32_t>(within / word);
    const bool in_groups = all.groups > 1;
    segment.from = begin(all.from, in_groups ? 0 : in_group, 0);
    segment.to = begin(all.to, in_groups ? 0 : in_group, 0);
    if (in_groups) {
      segment.per_group = Divisor(static_cast<std::uint32_t>(all.count));
      segment.skip_pieces = static_cast<std::uint32_t>(in_group);
    }
    return segment;
  }
};

/// Adds the bytes [from, to) of groups. Parts of long pieces become segments of their own.
void add_cuts(std::vector<Cut>& cuts, const Groups& groups, std::int64_t from, std::int64_t to) {
  while (from < to) {
    const std::int64_t end_of_piece = (from / groups.bytes + 1) * groups.bytes;
    const std::int64_t end = groups.bytes > longest_piece ? std::min(to, end_of_piece) : to;
    cuts.push_back({&groups, from, end - from});
    from = end;
  }
}

Cut whole(const Groups& groups) { return {&groups, 0, groups.all_bytes()}; }
std::int64_t word_of(const Groups& groups) { return whole(groups).word(); }

}  // namespace

template <class Cuts>
void Lister::add_chunk(Chunk chunk, const Cuts& cuts, std::int64_t word) {
  chunk.first_segment = static_cast<std::uint32_t>(segments_.size());
  chunk.segments = static_cast<std::uint32_t>(cuts.size());
  chunk.word_bytes = static_cast<std::uint32_t>(word);
  for (const auto& cut : cuts) {
    segments_.push_back(cut.segment(word, chunk.words));
    chunk.words += static_cast<std::uint32_t>(cut.words(word));
  }
  chunks_.push_back({chunk, cuts.empty() ? Segment{} : segments_[chunk.first_segment]});
}

void Lister::add(const Bundle& bundle, Direction direction) {
  const SlotSide slot = direction == Direction::pack ? &Pieces::to : &Pieces::from;
  const std::vector<Groups> all = groups_of(pieces_of(bundle, direction, bundle.even), slot);
  const auto place_of = [&](const Groups& groups) {
    return (direction == Direction::pack ? groups.to : groups.from).first - bundle.even;
  };
  const std::int64_t bytes = all.empty() ? 0 : place_of(all.back()) + all.back().all_bytes();
  const std::int64_t most = device::chunk_bytes(bytes), count = device::chunks_of(bytes);
  Chunk chunk{};
  if (bundle.flags.first != nullptr) chunk.to_odd = bundle.odd - bundle.even;
  chunk.watch = bundle.flags.watch;
  chunk.message = bundle.flags.message;
  std::size_t next = 0;  // groups that reach into the chunk or beyond
  for (std::int64_t c = 0; c < count; ++c) {
    const std::int64_t from = c * most, to = std::min(bytes, from + most);
    std::vector<Cut> cuts;
    std::int64_t word = word_for(bits(chunk.to_odd));
    for (std::size_t g = next; g < all.size() && place_of(all[g]) < to; ++g) {
      const std::int64_t at = place_of(all[g]), end = at + all[g].all_bytes();
      add_cuts(cuts, all[g], std::max(from, at) - at, std::min(to, end) - at);
      if (end <= to) next = g + 1;
    }
    for (const Cut& one : cuts) word = std::min(word, one.word());
    // Without flags no block waits for a chunk that has nothing to copy.
    if (cuts.empty() && bundle.flags.first == nullptr) continue;
    if (bundle.flags.first != nullptr) chunk.flag = bundle.flags.first + c;
    add_chunk(chunk, cuts, word);
    epochs_.push_back(bundle.flags.begun);
    numbers_.push_back(c);
  }
}

void Lister::add(const std::vector<Move>& moves, std::int64_t least, std::int64_t most,
                 std::int64_t blocks) {
  std::vector<Groups> alone, parts;  // all of their move, or not
  for (const Move& move : moves) {
    const std::vector<Groups> groups = groups_of(pieces_of(move));
    std::vector<Groups>& list = groups.size() == 1 ? alone : parts;
    list.insert(list.end(), groups.begin(), groups.end());
  }
  std::vector<Groups> all = with_twins(alone);
  all.insert(all.end(), parts.begin(), parts.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Groups& a, const Groups& b) { return word_of(a) > word_of(b); });
  std::int64_t words = 0;
  for (const Groups& groups : all) words += whole(groups).words(word_of(groups));
  const std::int64_t per_block = (words + blocks - 1) / blocks;
  const std::int64_t wanted = std::clamp((per_block + least - 1) / least * least, least, most);

  std::vector<Cut> cuts;
  std::int64_t word = 0, room = 0;
  const auto end_chunk = [&] {
    if (!cuts.empty()) {
      Chunk within{};
      within.is_within = 1;
      add_chunk(within, cuts, word);
      epochs_.push_back(0);
    }
    cuts.clear();
    room = wanted;
  };
  for (const Groups& groups : all) {
    if (word_of(groups) != word) end_chunk();
    word = word_of(groups);
    const std::int64_t bytes = groups.all_bytes();
    for (std::int64_t from = 0; from < bytes;) {
      const std::int64_t turns = groups.has_twin ? 2 : 1;
      if (room < turns) end_chunk();
      const std::int64_t to = std::min(bytes, from + room / turns * word);
      add_cuts(cuts, groups, from, to);
      room -= (to - from) / word * turns;
      from = to;
    }
  }
  end_chunk();
}

void Lister::take_messages_in_turn() {
  std::vector<std::size_t> order(chunks_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return numbers_[a] < numbers_[b]; });
  const std::vector<ListedChunk> chunks = std::exchange(chunks_, {});
  const std::vector<Epoch> epochs = std::exchange(epochs_, {});
  for (const std::size_t i : order) {
    chunks_.push_back(chunks[i]);
    epochs_.push_back(epochs[i]);
  }
}

}  // namespace halocline::pack::cuda
