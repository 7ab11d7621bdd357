// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checkpoints of any program with a grid: its fields in one file, whose hashes show whether it is
// complete. In libhalocline_solver.

#include <array>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>

namespace halocline {

/// A field by its name in the file: letters, digits, '_', '-', '.', 64 at most.
struct NamedField {
  std::string name;
  FieldStorage field;
};

struct CheckpointOptions {
  /// Text for the program's own use after reading: its step, its time, its parameters. Taken from
  /// rank 0; at most 16 MiB.
  std::string text = {};
  /// The coordinates of the first cell's lower corner and the size of a cell, for viewers.
  std::array<double, 3> origin{}, spacing{1, 1, 1};
};

/// Writes the owned cells of fields: the same file for every split, whose fields any number of
/// ranks reads. It appears, or replaces an old one, once all of it is on the disk; until then, and
/// after an error, the old one remains. Viewers open it as VTKHDF if its name ends in .vtkhdf and
/// HDF5 was found. All fields are float, or all are double, with one value per cell, in any memory;
/// all work on them must be done. Takes 12 MiB, and a copy on the host of a field in GPU memory or
/// in bricks, one at a time. Collective, with the same names on all ranks. Throws, on every rank,
/// usage for other fields and names and for a path that cannot be written, resource for a full or
/// broken disk and if memory runs out.
void write_checkpoint(const Communicator& communicator, const Grid& grid,
                      const std::vector<NamedField>& fields, const std::string& path,
                      const CheckpointOptions& options = {});

/// Reads fields of a file, those named, into their owned cells; leaves halos unchanged. Returns the
/// text, on every rank. Checks all that it reads by hashes that the file has. Also reads
/// checkpoints of `halocline solve`, which have no text. Collective. Throws, on every rank, usage
/// as write_checkpoint(), if the file does not exist, is not a checkpoint or is damaged, and if it
/// has other cells, no such field or another precision; resource if the disk fails. After an error
/// fields may have new values in part. Takes what write_checkpoint() does.
std::string read_checkpoint(const Communicator& communicator, const Grid& grid,
                            const std::vector<NamedField>& fields, const std::string& path);

}  // namespace halocline
