// SPDX-License-Identifier: Apache-2.0
#pragma once
// The head of a checkpoint: a text with the contents of the file, their places and hashes.

#include <cstdint>
#include <string>
#include <vector>

#include <halocline/grid.hpp>

#include "base/text/json_text.hpp"

namespace halocline::files {

/// A part of the file.
struct CheckpointPart {
  std::string name;
  std::int64_t offset = 0, bytes = 0;
  std::uint64_t hash = 0;
};

struct CheckpointHead {
  Json run;  ///< the writer's description of its run
  Extents cells;
  std::int64_t element_bytes = 0;
  std::vector<CheckpointPart> fields, texts;
  std::int64_t end = 0;  ///< the length of the file, at least
};

/// Reads a head, and checks it. Not collective. Throws usage for a file that is none, of another
/// version or damaged; resource if it cannot be read.
CheckpointHead read_checkpoint_head(const std::string& path);

/// Reads a text, and checks it. Not collective. Throws usage if it is damaged.
std::string read_checkpoint_text(const std::string& path, const CheckpointHead& head,
                                 const std::string& name);

/// Returns the first bytes of a file with this text as its head.
std::string begin_of_file(const std::string& head);

/// Returns a head as text, for other ranks.
std::string text_of(const CheckpointHead& head);
/// Throws usage for anything that text_of() would not return.
CheckpointHead head_of(const std::string& text, const std::string& path);

}  // namespace halocline::files
