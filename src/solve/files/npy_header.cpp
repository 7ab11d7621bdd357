// SPDX-License-Identifier: Apache-2.0
#include "files/npy_header.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/core.h>

#include <halocline/error.hpp>

#include "base/checked.hpp"

namespace halocline {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr std::size_t alignment_bytes = 64;
constexpr std::size_t longest_header = 10000;

[[noreturn]] void refuse_npy(std::string_view file_name, const std::string& reason) {
  throw Error(ErrorKind::usage, fmt::format("'{}' {}", file_name, reason));
}

/// Parses the Python literal that describes the array.
class Literal {
 public:
  Literal(std::string_view text, std::string_view file_name) : text_(text), file_name_(file_name) {}

  [[noreturn]] void fail(std::string_view expected) const {
    refuse_npy(file_name_, fmt::format("has a malformed header: {} expected at character {}",
                                       expected, position_));
  }

  /// Steps over `symbol` if it comes next.
  bool take(char symbol) {
    skip_spaces();
    if (position_ >= text_.size() || text_[position_] != symbol) return false;
    ++position_;
    return true;
  }

  void need(char symbol) {
    if (!take(symbol)) fail(fmt::format("'{}'", symbol));
  }

  bool at_end() {
    skip_spaces();
    return position_ == text_.size();
  }

  bool next_is(char symbol) {
    skip_spaces();
    return position_ < text_.size() && text_[position_] == symbol;
  }

  std::string string() {
    skip_spaces();
    const char quote = next_is('"') ? '"' : '\'';
    need(quote);
    const std::size_t end = text_.find(quote, position_);
    if (end == std::string_view::npos) fail("a closing quote");
    const std::string_view content = text_.substr(position_, end - position_);
    if (content.find('\\') != std::string_view::npos) fail("a string without escapes");
    position_ = end + 1;
    return std::string(content);
  }

  bool boolean() {
    if (take_word("True")) return true;
    if (take_word("False")) return false;
    fail("True or False");
  }

  std::int64_t size() {
    skip_spaces();
    std::int64_t value = 0;
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) fail("a size");
    position_ += static_cast<std::size_t>(end - begin);
    take('L');  // Python 2 wrote 128L
    return value;
  }

  std::vector<std::int64_t> sizes() {
    std::vector<std::int64_t> sizes;
    need('(');
    while (!take(')')) {
      sizes.push_back(size());
      if (take(',')) continue;
      need(')');
      if (sizes.size() == 1) fail("',' of a tuple");
      break;
    }
    return sizes;
  }

 private:
  void skip_spaces() {
    while (position_ < text_.size() && std::strchr(" \t\r\n", text_[position_]) != nullptr &&
           text_[position_] != '\0')
      ++position_;
  }

  bool take_word(std::string_view word) {
    skip_spaces();
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }

  std::string_view text_;
  std::string_view file_name_;
  std::size_t position_ = 0;
};

struct Dictionary {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

Dictionary parse_dictionary(std::string_view text, std::string_view file_name) {
  Literal literal(text, file_name);
  Dictionary found;
  literal.need('{');
  while (!literal.take('}')) {
    const std::string key = literal.string();
    literal.need(':');
    if (key == "descr") {
      if (literal.next_is('['))
        refuse_npy(file_name, "holds records; save each column as its own array");
      found.descr = literal.string();
    } else if (key == "fortran_order") {
      found.fortran_order = literal.boolean();
    } else if (key == "shape") {
      found.shape = literal.sizes();
    } else {
      refuse_npy(file_name, fmt::format("has a malformed header: unknown key '{}'", key));
    }
    if (!literal.take(',') && !literal.next_is('}')) literal.fail("',' or '}'");
  }
  if (!literal.at_end()) literal.fail("the end of the header");
  if (!found.descr || !found.fortran_order || !found.shape)
    refuse_npy(file_name, "has a malformed header: 'descr', 'fortran_order' or 'shape' is missing");
  return found;
}

/// Fills kind and size from a type such as '<f8', '|b1' or '<M8[ns]'.
void read_type(NpyHeader& header, std::string_view file_name) {
  const std::string& descr = header.descr;
  const auto malformed = [&] {
    refuse_npy(file_name, fmt::format("has a malformed header: '{}' is not a NumPy type", descr));
  };
  if (descr.size() < 2 || std::strchr("<>|=", descr[0]) == nullptr) malformed();
  header.kind = descr[1];
  if (header.kind == 'O')
    refuse_npy(file_name,
               fmt::format("holds Python objects ('{}'); convert with a.astype('<f8')", descr));
  if (header.kind == 'V')
    refuse_npy(file_name, fmt::format("holds records or raw bytes ('{}'); save numbers", descr));
  if (std::strchr("fiubcSUmM", header.kind) == nullptr) malformed();

  int count = 0;
  const char* const last = descr.data() + descr.size();
  const auto [rest, error] = std::from_chars(descr.data() + 2, last, count);
  const bool has_unit = (header.kind == 'm' || header.kind == 'M') && rest != last && *rest == '[';
  if (error != std::errc() || count < 0 || (rest != last && !has_unit)) malformed();
  header.element_bytes = header.kind == 'U' ? std::int64_t{4} * count : count;
  if (descr[0] == '>' && header.element_bytes > 1)
    refuse_npy(file_name, fmt::format("is big-endian '{}'; convert with a.astype('<{}')", descr,
                                      descr.substr(1)));
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

struct Frame {
  std::size_t header_offset = 0;
  std::size_t header_bytes = 0;
};

/// Reads the bytes before the dictionary: magic, version, length.
Frame parse_frame(std::string_view start, std::string_view file_name) {
  if (start.substr(0, magic.size()) != magic)
    refuse_npy(file_name,
               "is not a .npy file: it does not start with \\x93NUMPY; write it with numpy.save");
  if (start.size() < 8) refuse_npy(file_name, "is truncated: it ends before its version");
  const int major = static_cast<unsigned char>(start[6]);
  const int minor = static_cast<unsigned char>(start[7]);
  if (major < 1 || major > 3 || minor != 0)
    refuse_npy(file_name, fmt::format("has format version {}.{}; supported are 1.0, 2.0 and 3.0",
                                      major, minor));
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  if (start.size() < 8 + length_bytes)
    refuse_npy(file_name, "is truncated: it ends before the length of its header");
  const Frame frame{8 + length_bytes, little_endian(start.substr(8, length_bytes))};
  if (frame.header_bytes > longest_header)
    refuse_npy(file_name,
               fmt::format("has a malformed header: {} bytes long, at most {} are allowed",
                           frame.header_bytes, longest_header));
  if (start.size() - frame.header_offset < frame.header_bytes)
    refuse_npy(file_name, fmt::format("is truncated: its header ends at byte {}, the file at {}",
                                      frame.header_offset + frame.header_bytes, start.size()));
  return frame;
}

std::int64_t data_bytes_of(const NpyHeader& header, std::string_view file_name) {
  const std::string what = fmt::format("size of '{}'", file_name);
  std::int64_t bytes = header.element_bytes;
  for (const std::int64_t size : header.shape) bytes = checked_multiply(bytes, size, what.c_str());
  return bytes;
}

}  // namespace

std::string write_shape(std::span<const std::int64_t> shape) {
  std::string text;
  for (const std::int64_t size : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
  return fmt::format("({}{})", text, shape.size() == 1 ? "," : "");
}

std::string format_npy_header(const NpyArray& array) {
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                       array.descr, write_shape(array.shape));
  const std::size_t before = magic.size() + 4;  // and the newline that ends the header
  const std::size_t unpadded = before + dictionary.size() + 1;
  const std::size_t total = (unpadded + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  dictionary.append(total - unpadded, ' ');
  dictionary += '\n';

  const auto length = checked_cast<std::uint16_t>(dictionary.size());
  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  return header + dictionary;
}

NpyHeader parse_npy_header(std::span<const std::byte> start_of_file, std::string_view file_name) {
  const std::string_view start = as_text(start_of_file);
  const Frame frame = parse_frame(start, file_name);
  Dictionary found =
      parse_dictionary(start.substr(frame.header_offset, frame.header_bytes), file_name);
  NpyHeader header;
  header.descr = std::move(*found.descr);
  header.shape = std::move(*found.shape);
  header.data_offset = frame.header_offset + frame.header_bytes;
  read_type(header, file_name);
  if (*found.fortran_order)
    refuse_npy(file_name, "is in Fortran order; convert with numpy.ascontiguousarray(a)");
  return header;
}

void require(const NpyHeader& header, const NpyNeeds& needs, std::int64_t file_bytes,
             std::string_view file_name) {
  if (header.shape != needs.shape)
    refuse_npy(file_name, fmt::format("has shape {} but {} needs {}", write_shape(header.shape),
                                      needs.asked_by, write_shape(needs.shape)));
  if (header.descr != needs.descr)
    refuse_npy(file_name, fmt::format("holds '{}' but '{}' is needed; convert with a.astype('{}')",
                                      header.descr, needs.descr, needs.descr));
  require_complete(header, file_bytes, file_name);
}

void require_complete(const NpyHeader& header, std::int64_t file_bytes,
                      std::string_view file_name) {
  const std::int64_t expected = data_bytes_of(header, file_name);
  const std::int64_t present = file_bytes - static_cast<std::int64_t>(header.data_offset);
  if (present < expected)
    refuse_npy(file_name, fmt::format("is truncated: {} bytes of data expected, {} present",
                                      expected, std::max<std::int64_t>(present, 0)));
}

}  // namespace halocline
