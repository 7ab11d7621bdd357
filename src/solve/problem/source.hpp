// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text of a problem file, and errors that show the line they are about.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halocline::problem {

enum class Lines : unsigned char { kept, replaced };
/// Replaces control characters, and those that turn the direction of text, by \x1b and the like,
/// and leaves out the middle of a text of more than 1000 bytes.
std::string printable(std::string_view text, Lines lines = Lines::replaced);

/// An expression in a file. The text may lie elsewhere in the file than it reads, if it was written
/// with escapes; then `begin` is where its value begins.
struct Written {
  std::string text = {};
  std::size_t begin = 0;    ///< bytes from the start of the file
  bool is_verbatim = true;  ///< the file has the same bytes there
};

class Source {
 public:
  /// Errors name it by `name`: a path.
  Source(std::string name, std::string text);

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  /// Returns the byte offset of a line and column, both from 1; columns count code points.
  std::size_t offset_of(std::size_t line, std::size_t column) const;
  /// Returns "NAME:14:12: WHAT", the line and a mark below `length` bytes of it.
  std::string shown(std::size_t at, std::size_t length, std::string_view what) const;
  /// The same for bytes of an expression.
  std::string shown(const Written& written, std::size_t at, std::size_t length,
                    std::string_view what) const;

 private:
  std::string name_, text_;
  std::vector<std::uint32_t> points_;  ///< where each code point begins
  std::vector<std::uint32_t> lines_;   ///< the first code point of each line
};

}  // namespace halocline::problem
