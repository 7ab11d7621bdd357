// SPDX-License-Identifier: Apache-2.0
#pragma once
// A text at the begin of a file, with its length and hash in a first line: a program's description
// of the bytes behind it. A reader recognises a text that was changed.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/files/descriptor.hpp"

namespace halocline::files {

struct Frame {
  std::string_view magic;  ///< the first words of the file
  int version;
  std::string_view kind;  ///< in errors: "a checkpoint"
};

/// The bytes before the text.
inline constexpr std::int64_t frame_bytes = 64;

/// The hash that frames have.
std::uint64_t hash_of_text(std::string_view text);

/// Returns the first line and the text.
std::string framed(const Frame& frame, const std::string& text);

/// Opens a file to be read. Throws usage unless it is a regular one, resource if the disk fails.
Descriptor open_framed(const Frame& frame, const std::string& path);
/// Returns bytes of a file, fewer if it ends before. Throws resource.
std::string bytes_at(const Descriptor& file, std::int64_t offset, std::int64_t count,
                     const std::string& path);
/// Returns the text. Throws usage if there is none, it is of another version or damaged; resource.
std::string read_framed(const Frame& frame, const Descriptor& file, const std::string& path);

/// Throws usage: "'PATH' is damaged: WHAT".
[[noreturn]] void refuse_damaged(const std::string& path, const std::string& what);

}  // namespace halocline::files
