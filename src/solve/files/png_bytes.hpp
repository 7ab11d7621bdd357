// SPDX-License-Identifier: Apache-2.0
#pragma once
// A canvas as the bytes of a PNG file.

#include <cstddef>
#include <vector>

#include "files/canvas.hpp"

namespace halocline {

/// Returns a PNG of 8 bits for each of red, green and blue.
std::vector<std::byte> png_of(const Canvas& canvas);

}  // namespace halocline
