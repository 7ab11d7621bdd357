// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields in NumPy's .npy files, of any program with a grid. In libhalocline_solver.

#include <string>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>

namespace halocline {

/// Writes the owned cells of all ranks as one array of shape (NZ, NY, NX), (NY, NX) or (NX,), in C
/// order: the same file for every split. Replaces an old file once all data is on the disk; until
/// then, and after an error, the old one remains. The field has one float or double per cell, in
/// any memory; all work on it must be done. Collective. Throws, on every rank, usage for other
/// fields and for a path that cannot be written, resource for a full or broken disk. Takes 12 MiB,
/// and a copy on the host of a field in GPU memory or in bricks.
void write_npy(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
               const std::string& path);

/// Reads such an array into the owned cells; leaves the halo unchanged. Collective. Throws, on
/// every rank, usage for fields that write_npy refuses and if the file does not exist, is not a
/// .npy file, or has another shape or type; resource if the disk fails. Takes what write_npy()
/// does.
void read_npy(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
              const std::string& path);

}  // namespace halocline
