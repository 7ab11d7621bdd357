// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the cells of some boxes lie in the memory of a field, in whatever layout.

#include <cstdint>
#include <vector>

#include <halocline/field.hpp>

namespace halocline::bench {

/// Lists the bytes of boxes, which may overlap, from the first byte of the field on: each once, in
/// order, ranges as long as they can be (`count` is 1). With `grain` they are whole blocks of so
/// many bytes, as far as the field has them.
std::vector<Run> ranges_of(const FieldStorage& field, const std::vector<Box>& boxes,
                           std::int64_t grain = 1);

/// Puts ranges of equal length and distance together, so that one call copies many.
std::vector<Run> rows_of(const std::vector<Run>& ranges);

std::int64_t bytes_of(const std::vector<Run>& runs);

}  // namespace halocline::bench
