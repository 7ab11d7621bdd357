// SPDX-License-Identifier: Apache-2.0
#pragma once
// Draws fields as pictures.

#include <optional>
#include <string>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>

#include "base/files/temporary_file.hpp"
#include "files/png.hpp"

namespace halocline::files {

/// The common look of pictures of several times: the values at the ends of the colours, or at the
/// edges of a curve, and the size.
struct Look {
  std::optional<ValueRange> fixed = {};
  /// Unless fixed: the range is the finite values' and this one together.
  std::optional<ValueRange> at_least = {};
  PictureRoom room = {};
};

/// Draws a 2-D field, the middle plane along z of a 3-D one, or a 1-D one as a curve, as PNG. If an
/// axis has more than 1024 cells, draws every n-th cell along each axis. Appends plane and sampling
/// to `title`. The picture is the same for every process grid. Elements of 8 bytes count as
/// doubles, those of 4 as floats. Collective; rank 0 gathers only the values that it draws. Throws
/// as write_npy does. Returns on rank 0 the range of the scale, unless there is no finite value and
/// no other; nothing on other ranks.
std::optional<ValueRange> write_picture(const Communicator& communicator, const Grid& grid,
                                        const FieldStorage& field, const std::string& path,
                                        const std::string& title,
                                        Otherwise otherwise = Otherwise::fail,
                                        const Look& look = {});

}  // namespace halocline::files
