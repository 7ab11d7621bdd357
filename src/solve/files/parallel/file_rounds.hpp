// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which rank reads or writes which part of a file in which round: pure functions on boxes.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <halocline/box.hpp>

namespace halocline::files {

/// An array in a file, in C order: x runs fastest.
struct ArrayInFile {
  std::int64_t offset_bytes = 0;  ///< of the first element
  Int3 cells{1, 1, 1};
  std::int64_t element_bytes = 0;

  std::int64_t bytes() const { return cells.x * cells.y * cells.z * element_bytes; }
  std::int64_t end_bytes() const { return offset_bytes + bytes(); }
};

/// Rows of bytes in two memories.
struct RowsToCopy {
  std::byte* to;
  const std::byte* from;
  std::int64_t bytes, count;  ///< of each row, and of rows
  std::int64_t to_stride, from_stride;
};

/// The cells of an array that a rank holds in memory, and their addresses. An empty box: none.
struct PartInMemory {
  Box box;
  std::byte* first = nullptr;  ///< the element at box.lower
  Int3 stride_bytes;           ///< along each axis; any may be the smallest
  /// Copies to and from memory that the host cannot reach, in which x runs fastest. Done on return.
  void (*copy_rows)(const RowsToCopy& rows) = nullptr;
};

/// Consecutive cells of an array, counted in its order.
struct CellRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t cells() const { return end - begin; }
};

/// Cuts the file into chunks that begin at multiples of `chunk_bytes`, gives every rank
/// consecutive ones, and takes one chunk of each rank per round.
class FileRounds {
 public:
  FileRounds(const ArrayInFile& array, int ranks, std::int64_t chunk_bytes);

  std::int64_t rounds() const;
  /// Returns the cells of the chunk of `rank` in that round; none if it has no more chunks.
  CellRange range(int rank, std::int64_t round) const;

 private:
  std::int64_t first_chunk(int rank) const;
  std::int64_t first_cell(std::int64_t chunk) const;

  ArrayInFile array_;
  int ranks_;
  std::int64_t chunk_bytes_;
  std::int64_t before_;  ///< chunks before the one in which the array begins
  std::int64_t chunks_;
};

/// Calls `use(start, cells, at)` for every row, along x, of the cells that lie both in `box` and in
/// `range`: its first cell, its length, and its offset in the range.
template <class Use>
void for_each_row(const Int3& cells, const Box& box, CellRange range, Use&& use) {
  if (range.begin >= range.end || box.empty()) return;
  const std::int64_t plane = cells.x * cells.y, last = range.end - 1;
  const std::int64_t first_z = range.begin / plane, last_z = last / plane;
  for (std::int64_t z = std::max(first_z, box.lower.z); z <= std::min(last_z, box.upper.z - 1);
       ++z) {
    const std::int64_t first_y = z == first_z ? range.begin % plane / cells.x : 0;
    const std::int64_t last_y = z == last_z ? last % plane / cells.x : cells.y - 1;
    for (std::int64_t y = std::max(first_y, box.lower.y); y <= std::min(last_y, box.upper.y - 1);
         ++y) {
      const std::int64_t row = z * plane + y * cells.x;
      const std::int64_t x = std::max(box.lower.x, range.begin - row);
      const std::int64_t end = std::min(box.upper.x, range.end - row);
      if (x < end) use(Int3{x, y, z}, end - x, row + x - range.begin);
    }
  }
}

/// Rows along x of equal lengths, one after the other along y.
struct RowsOfCells {
  Int3 start;               ///< the first cell
  std::int64_t cells = 0;   ///< of each row
  std::int64_t count = 0;   ///< of rows
  std::int64_t offset = 0;  ///< of the first cell in the range
};

/// The same as for_each_row(), for as many rows at once as follow each other.
template <class Use>
void for_each_rows(const Int3& cells, const Box& box, CellRange range, Use&& use) {
  RowsOfCells rows;
  for_each_row(cells, box, range, [&](const Int3& start, std::int64_t length, std::int64_t offset) {
    const Int3 next = rows.start + Int3{0, rows.count, 0};
    if (rows.count > 0 && start == next && length == rows.cells) {
      ++rows.count;
      return;
    }
    if (rows.count > 0) use(rows);
    rows = {start, length, 1, offset};
  });
  if (rows.count > 0) use(rows);
}

/// Counts the cells that lie both in `box` and in `range`.
std::int64_t cells_in(const Int3& cells, const Box& box, CellRange range);

}  // namespace halocline::files
