// SPDX-License-Identifier: Apache-2.0
#pragma once
// The flags of all tiles at both ends of a rank's cells (device/face_port.hpp), between sweeps.

#include <cstdint>

#include <halocline/stream.hpp>

#include "device/face_port.hpp"

namespace halocline::links::cuda {

/// Loads the kernels, because no kernel may be loaded while neighbours wait.
void load_face_flags();

/// Makes the stream wait until the neighbours' sweeps have been as often over each of `tiles` tiles
/// at an end as this rank's, or a wait takes too long.
void await_all(const device::FacePort& port, std::int64_t tiles, Stream stream);

/// The same after raising all flags once more: earlier work of the stream, which is then visible to
/// the neighbours, counts as a sweep.
void meet_all(const device::FacePort& port, std::int64_t tiles, Stream stream);

}  // namespace halocline::links::cuda
