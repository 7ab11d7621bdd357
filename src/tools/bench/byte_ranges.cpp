// SPDX-License-Identifier: Apache-2.0
#include "bench/byte_ranges.hpp"

#include <algorithm>

namespace halocline::bench {
namespace {

/// Extends the row by a range that continues it; returns whether it does.
bool continues(Run& row, const Run& range) {
  if (range.bytes != row.bytes) return false;
  const std::int64_t distance = range.offset - row.offset;
  if (row.count > 1 && distance != row.count * row.stride) return false;
  if (row.count == 1) row.stride = distance;
  ++row.count;
  return true;
}

}  // namespace

std::vector<Run> ranges_of(const FieldStorage& field, const std::vector<Box>& boxes,
                           std::int64_t grain) {
  std::vector<Run> pieces;
  for (const Box& box : boxes)
    for (const Run& run : field.layout().runs(box))
      for (std::int64_t i = 0; i < run.count; ++i) {
        const std::int64_t at = run.offset + i * run.stride, begin = at / grain * grain;
        const std::int64_t end = (at + run.bytes + grain - 1) / grain * grain;
        pieces.push_back({begin, std::min(end, field.allocated_bytes()) - begin, 1, 0});
      }
  std::sort(pieces.begin(), pieces.end(),
            [](const Run& a, const Run& b) { return a.offset < b.offset; });
  std::vector<Run> ranges;
  for (const Run& piece : pieces) {
    if (ranges.empty() || piece.offset > ranges.back().offset + ranges.back().bytes) {
      ranges.push_back(piece);
      continue;
    }
    Run& last = ranges.back();
    last.bytes = std::max(last.bytes, piece.offset + piece.bytes - last.offset);
  }
  return ranges;
}

std::vector<Run> rows_of(const std::vector<Run>& ranges) {
  std::vector<Run> rows;
  for (const Run& range : ranges)
    if (rows.empty() || !continues(rows.back(), range))
      rows.push_back({range.offset, range.bytes, 1, range.bytes});
  return rows;
}

std::int64_t bytes_of(const std::vector<Run>& runs) {
  std::int64_t bytes = 0;
  for (const Run& run : runs) bytes += run.bytes * run.count;
  return bytes;
}

}  // namespace halocline::bench
