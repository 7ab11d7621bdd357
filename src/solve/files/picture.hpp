// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields as pictures.

#include <string>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>

namespace halocline::files {

/// Draws a 2-D field, the middle plane along z of a 3-D one, or a 1-D one as a strip, as PNG. Of
/// more than 1024 cells along an axis every n-th along each is drawn. `title` is continued by
/// which plane and which cells these are. The picture is the same for every process grid.
/// Elements of 8 bytes are taken for doubles, of 4 for floats. Collective; rank 0 gathers no more
/// values than are drawn. Throws as write_npy does.
void write_picture(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
                   const std::string& path, const std::string& title);

}  // namespace halocline::files
