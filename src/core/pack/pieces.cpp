// SPDX-License-Identifier: Apache-2.0
#include "pack/pieces.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::pack {
namespace {

/// A place in a list of runs.
class Place {
 public:
  explicit Place(const FieldRuns& runs) : field_(runs.field), runs_(runs.runs) { skip_empty(); }

  bool ended() const { return run_ == runs_.size(); }
  bool begins_piece() const { return within_ == 0; }
  std::int64_t bytes_of_piece() const { return run().bytes; }
  std::int64_t rest_of_piece() const { return run().bytes - within_; }
  std::int64_t pieces_left() const { return run().count - piece_; }
  PieceSide side() const {
    return {field_ + run().offset + piece_ * run().stride + within_, run().stride};
  }

  void pass_pieces(std::int64_t count) {
    piece_ += count;
    if (piece_ < run().count) return;
    piece_ = 0;
    ++run_;
    skip_empty();
  }
  void pass_bytes(std::int64_t bytes) {
    within_ += bytes;
    if (within_ < run().bytes) return;
    within_ = 0;
    pass_pieces(1);
  }

 private:
  const Run& run() const { return runs_[run_]; }
  void skip_empty() {
    while (run_ < runs_.size() && runs_[run_].bytes * runs_[run_].count == 0) ++run_;
  }

  std::byte* field_;
  const std::vector<Run>& runs_;
  std::size_t run_ = 0;
  std::int64_t piece_ = 0, within_ = 0;
};

bool goes_on(const PieceSide& last, std::int64_t count, std::byte* next) {
  return count == 1 || next == last.first + count * last.stride;
}

/// Adds a piece to the last ones, of the same field, if it lies as far behind them as they behind
/// each other.
void add(std::vector<Pieces>& all, PieceSide from, PieceSide to, std::int64_t bytes,
         std::size_t field) {
  if (!all.empty()) {
    Pieces& last = all.back();
    if (last.bytes == bytes && goes_on(last.from, last.count, from.first) &&
        goes_on(last.to, last.count, to.first)) {
      if (last.count == 1) {
        last.from.stride = from.first - last.from.first;
        last.to.stride = to.first - last.to.first;
      }
      ++last.count;
      return;
    }
  }
  all.push_back({from, to, bytes, 1, field});
}

}  // namespace

std::int64_t bytes_of(const FieldRuns& runs) {
  std::int64_t bytes = 0;
  for (const Run& run : runs.runs) bytes += run.bytes * run.count;
  return bytes;
}

std::vector<Pieces> pieces_of(const Bundle& bundle, Direction direction, std::byte* slot) {
  std::vector<Pieces> all;
  for (const FieldRuns& piece : bundle.pieces) {
    std::byte* at = slot + piece.offset;
    for (const Run& run : piece.runs) {
      if (run.bytes * run.count == 0) continue;
      const PieceSide of_field{piece.field + run.offset, run.stride}, of_slot{at, run.bytes};
      const bool packs = direction == Direction::pack;
      all.push_back({packs ? of_field : of_slot, packs ? of_slot : of_field, run.bytes, run.count,
                     piece.number});
      at += run.bytes * run.count;
    }
  }
  return all;
}

std::vector<Pieces> pieces_of(const Move& move) {
  const std::int64_t from_bytes = bytes_of(move.from), to_bytes = bytes_of(move.to);
  if (from_bytes != to_bytes)
    throw Error(ErrorKind::internal,
                fmt::format("a rank sends itself {} bytes but expects {}", from_bytes, to_bytes));
  std::vector<Pieces> all;
  Place from(move.from), to(move.to);
  while (!from.ended()) {
    const bool alike =
        from.begins_piece() && to.begins_piece() && from.bytes_of_piece() == to.bytes_of_piece();
    const std::int64_t count = alike ? std::min(from.pieces_left(), to.pieces_left()) : 1;
    if (count > 1) {
      all.push_back({from.side(), to.side(), from.bytes_of_piece(), count, move.from.number});
      from.pass_pieces(count);
      to.pass_pieces(count);
      continue;
    }
    const std::int64_t bytes = std::min(from.rest_of_piece(), to.rest_of_piece());
    add(all, from.side(), to.side(), bytes, move.from.number);
    from.pass_bytes(bytes);
    to.pass_bytes(bytes);
  }
  return all;
}

}  // namespace halocline::pack
