// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checkpoints: fields and their metadata in one file, whose hashes show whether it is complete.
// A head in text comes first, with the place and the hash of all that follows; so a file can be
// checked before anything else reads it. Where HDF5 is found, the rest is a VTKHDF file, too.

#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/exchange.hpp>
#include <halocline/grid.hpp>

#include "base/text/json_text.hpp"
#include "files/checkpoint_head.hpp"
#include "files/vtk_image.hpp"

namespace halocline::files {

/// A text of the writer, from one rank: "problem", "norms".
struct CheckpointText {
  std::string name;
  std::string bytes;
};

struct CheckpointContent {
  Image image;       ///< names the fields
  FieldList fields;  ///< in any memory
  Json run;
  std::vector<CheckpointText> texts;  ///< those of rank 0 count
};

/// Writes a checkpoint, under a temporary name until all of it is on the disk. Collective. Throws,
/// on every rank, resource and usage as write_npy().
void write_checkpoint(const Communicator& communicator, const Grid& grid,
                      const CheckpointContent& content, const std::string& path);

/// Reads a field into the owned cells, and checks it. Collective. Throws, on every rank, usage if
/// there is none of this name, or it is damaged.
void read_checkpoint_field(const Communicator& communicator, const Grid& grid,
                           const FieldStorage& field, const std::string& path,
                           const CheckpointHead& head, const std::string& name);

}  // namespace halocline::files
