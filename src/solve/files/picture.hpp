// SPDX-License-Identifier: Apache-2.0
#pragma once
// Draws fields as pictures.

#include <string>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>

#include "base/temporary_file.hpp"

namespace halocline::files {

/// Draws a 2-D field, the middle plane along z of a 3-D one, or a 1-D one as a curve, as PNG. If an
/// axis has more than 1024 cells, draws every n-th cell along each axis. Appends plane and sampling
/// to `title`. The picture is the same for every process grid. Elements of 8 bytes count as
/// doubles, those of 4 as floats. Collective; rank 0 gathers only the values that it draws. Throws
/// as write_npy does.
void write_picture(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
                   const std::string& path, const std::string& title,
                   Otherwise otherwise = Otherwise::fail);

}  // namespace halocline::files
