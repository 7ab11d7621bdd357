// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes and reads fields as NumPy's .npy files, on all ranks at once.

#include <string>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>

#include "base/files/temporary_file.hpp"

namespace halocline::files {

/// Writes the global array of owned cells, shape (NZ, NY, NX), (NY, NX) or (NX,), in C order.
/// Replaces an old file once all data is on the disk; until then, and after an error, the old one
/// remains. Elements of 8 bytes count as doubles ('<f8'), those of 4 as floats ('<f4'). Collective.
/// Throws, on every rank, usage for other elements, for more than one component and for a path that
/// it cannot write, resource for a full or broken disk. Takes 16 MiB.
void write_npy(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
               const std::string& path, Otherwise otherwise = Otherwise::fail);

/// Reads such an array into the owned cells; leaves the halo unchanged. Collective. Throws, on
/// every rank, usage if the file does not exist, is not a .npy file, or has another shape or type;
/// resource if the disk fails. Takes 16 MiB.
void read_npy(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
              const std::string& path);

/// Returns the size of the array in a .npy file, x first. Not collective. Throws usage as read_npy
/// does.
Extents cells_in_npy(const std::string& path);

/// Throws usage, as read_npy does, unless the file has an array of `cells`, x first, of floats or
/// doubles of `element_bytes` bytes, and all of its data. Reads only its header. Not collective.
void check_npy(const std::string& path, const Extents& cells, std::int64_t element_bytes);

/// Throws usage for a pipe, which the ranks cannot write to each at a place of its own.
void require_seekable(const std::string& path);

}  // namespace halocline::files
