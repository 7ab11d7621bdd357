// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of the cells of boxes in a field's memory, for any layout.

#include <cstdint>
#include <vector>

#include <halocline/field.hpp>

namespace halocline::bench {

/// Lists the bytes of boxes, which may overlap, as offsets from the field's first byte: each byte
/// once, in order, in maximal ranges (`count` is 1). Ranges consist of whole blocks of `grain`
/// bytes, within the field.
std::vector<Run> ranges_of(const FieldStorage& field, const std::vector<Box>& boxes,
                           std::int64_t grain = 1);

/// Joins ranges of equal length and distance, so that one call copies many.
std::vector<Run> rows_of(const std::vector<Run>& ranges);

std::int64_t bytes_of(const std::vector<Run>& runs);

}  // namespace halocline::bench
