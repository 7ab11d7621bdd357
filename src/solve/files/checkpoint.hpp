// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checkpoints: fields and what belongs to them in one file, which says itself whether it is whole.
// A head in text comes first, with the place and the hash of all that follows; so a file can be
// checked before anything else reads it. Where HDF5 is found, what follows is a VTKHDF file, too.

#include <cstdint>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/exchange.hpp>
#include <halocline/grid.hpp>

#include "base/json_text.hpp"
#include "files/vtk_image.hpp"

namespace halocline::files {

/// What the writer gives of one rank: "problem", "norms".
struct CheckpointText {
  std::string name;
  std::string bytes;
};

/// A part of the file.
struct CheckpointPart {
  std::string name;
  std::int64_t offset = 0, bytes = 0;
  std::uint64_t hash = 0;
};

struct CheckpointHead {
  Json run;  ///< what the writer says of its run
  Extents cells;
  std::int64_t element_bytes = 0;
  std::vector<CheckpointPart> fields, texts;
  std::int64_t end = 0;  ///< the length of the file, at least
};

struct CheckpointContent {
  Image image;       ///< names the fields
  FieldList fields;  ///< that the host can read
  Json run;
  std::vector<CheckpointText> texts;  ///< those of rank 0 count
};

/// Writes a checkpoint, under a temporary name until all of it is on the disk. Collective. Throws,
/// on every rank, resource and usage as write_npy().
void write_checkpoint(const Communicator& communicator, const Grid& grid,
                      const CheckpointContent& content, const std::string& path);

/// Reads a head, and checks it. Not collective. Throws usage for a file that is none, of another
/// version or damaged; resource if it cannot be read.
CheckpointHead read_checkpoint_head(const std::string& path);

/// Reads a text, and checks it. Not collective. Throws usage if it is damaged.
std::string read_checkpoint_text(const std::string& path, const CheckpointHead& head,
                                 const std::string& name);

/// Reads a field into the owned cells, and checks it. Collective. Throws, on every rank, usage if
/// there is none of this name, or it is damaged.
void read_checkpoint_field(const Communicator& communicator, const Grid& grid,
                           const FieldStorage& field, const std::string& path,
                           const CheckpointHead& head, const std::string& name);

/// Returns what a file with this text as its head begins with.
std::string begin_of_file(const std::string& head);

/// The same as text, for other ranks.
std::string text_of(const CheckpointHead& head);
/// Throws usage for anything that text_of() would not return.
CheckpointHead head_of(const std::string& text, const std::string& path);

}  // namespace halocline::files
