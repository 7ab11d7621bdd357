// SPDX-License-Identifier: Apache-2.0
#pragma once
// Draws fields as pictures.

#include <array>
#include <optional>
#include <string>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>

#include "base/files/temporary_file.hpp"
#include "files/colour_map.hpp"

namespace halocline::files {

struct Look {
  std::string title = {};
  std::array<double, 3> spacing{1, 1, 1};   ///< of cells along each axis
  std::optional<ValueRange> fixed = {};     ///< of the colours
  std::optional<ValueRange> at_least = {};  ///< unless fixed: the finite values' and this together
  Otherwise otherwise = Otherwise::fail;
};

/// What a picture shows; the same on every rank.
struct Shown {
  std::optional<ColourScale> scale;  ///< nothing: there was no finite value, and no range
  std::string part;                  ///< of the field: ", z = 32"; empty if all of it
};

/// Draws a 2-D field, the middle plane along z of a 3-D one, or a 1-D one as a band, as encode_png
/// does. If an axis has more than 1024 cells, draws every n-th cell along each axis. Appends plane
/// and sampling to the title. The picture is the same for every process grid. Elements of 8 bytes
/// count as doubles, those of 4 as floats. Collective; rank 0 gathers only the values that it
/// draws. Throws as write_npy does.
Shown write_picture(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
                    const std::string& path, const Look& look = {});

}  // namespace halocline::files
