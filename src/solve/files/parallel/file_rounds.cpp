// SPDX-License-Identifier: Apache-2.0
#include "files/parallel/file_rounds.hpp"

namespace halocline::files {
namespace {

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

}  // namespace

FileRounds::FileRounds(const ArrayInFile& array, int ranks, std::int64_t chunk_bytes)
    : array_(array),
      ranks_(ranks),
      chunk_bytes_(chunk_bytes),
      before_(array.offset_bytes / chunk_bytes),
      chunks_(divide_up(array.end_bytes(), chunk_bytes) - before_) {}

std::int64_t FileRounds::rounds() const { return divide_up(chunks_, ranks_); }

CellRange FileRounds::range(int rank, std::int64_t round) const {
  const std::int64_t first = first_chunk(rank), count = first_chunk(rank + 1) - first;
  if (round >= count) return {};
  // The ranks do not all begin with their first chunk: otherwise a few ranks might hold the cells
  // that all others need in the same round, and would slow down every round.
  const std::int64_t chunk = before_ + first + (round + rank) % count;
  return {first_cell(chunk), first_cell(chunk + 1)};
}

/// Rounded up, so that rank 0, which writes the header before the array, has the first one.
std::int64_t FileRounds::first_chunk(int rank) const { return divide_up(chunks_ * rank, ranks_); }

/// A cell belongs to the chunk that its first byte lies in.
std::int64_t FileRounds::first_cell(std::int64_t chunk) const {
  const std::int64_t begin = std::max(chunk * chunk_bytes_, array_.offset_bytes);
  const std::int64_t end = std::min(begin, array_.end_bytes());
  return divide_up(end - array_.offset_bytes, array_.element_bytes);
}

std::int64_t cells_in(const Int3& cells, const Box& box, CellRange range) {
  std::int64_t count = 0;
  for_each_row(cells, box, range,
               [&](const Int3&, std::int64_t length, std::int64_t) { count += length; });
  return count;
}

}  // namespace halocline::files
