// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields to and from NumPy's .npy files, by all ranks at once.

#include <string>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>

namespace halocline::files {

/// Writes the global array of owned cells, shape (NZ, NY, NX), (NY, NX) or (NX,), in C order. The
/// file takes the place of an old one when all is on the disk; until then, and after an error,
/// the old one stays. Elements of 8 bytes are taken for doubles ('<f8'), of 4 for floats
/// ('<f4'). Collective. Throws, on every rank, usage for other elements, for more than one
/// component and for a path that cannot be written, resource for a full or broken disk. Takes
/// 12 MiB.
void write_npy(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
               const std::string& path);

/// Reads such an array into the owned cells; what lies around them stays. Collective. Throws, on
/// every rank, usage for a file that is not there, is no .npy file, or holds another shape or
/// type; resource if the disk fails. Takes 12 MiB.
void read_npy(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
              const std::string& path);

/// The size of the array in a .npy file, x first. Not collective. Throws usage as read_npy does.
Extents cells_in_npy(const std::string& path);

}  // namespace halocline::files
