// SPDX-License-Identifier: Apache-2.0
// https://www.w3.org/TR/png-3: chunks of length, type, data and checksum; rows of pixels, each with
// the way it was filtered before, in zlib's format.
#include "files/png_bytes.hpp"

#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <halocline/error.hpp>

namespace halocline {
namespace {

using Bytes = std::vector<std::byte>;

void add_number(Bytes& bytes, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<std::byte>(number >> shift));
}

void add_chunk(Bytes& file, std::string_view type, const Bytes& data) {
  add_number(file, static_cast<std::uint32_t>(data.size()));
  const std::size_t begin = file.size();
  for (const char letter : type) file.push_back(static_cast<std::byte>(letter));
  file.insert(file.end(), data.begin(), data.end());
  const auto* checked = reinterpret_cast<const Bytef*>(file.data() + begin);
  add_number(file,
             static_cast<std::uint32_t>(crc32(0, checked, static_cast<uInt>(file.size() - begin))));
}

/// A row of pixels, as differences from the row above or from the pixel before: the one with the
/// smaller ones compresses better.
Bytes filtered(const std::byte* row, const std::byte* above, std::size_t count) {
  constexpr std::size_t of_pixel = 3;
  Bytes best;
  std::int64_t least = 0;
  for (const bool is_up : {true, false}) {
    constexpr std::byte sub{1}, up{2};
    Bytes bytes{is_up ? up : sub};
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::byte before = is_up          ? above == nullptr ? std::byte{0} : above[i]
                                        : i < of_pixel ? std::byte{0}
                                              : row[i - of_pixel];
      const auto difference =
          static_cast<std::int8_t>(std::to_integer<int>(row[i]) - std::to_integer<int>(before));
      bytes.push_back(static_cast<std::byte>(difference));
      sum += std::abs(difference);
    }
    if (best.empty() || sum < least) {
      best = bytes;
      least = sum;
    }
  }
  return best;
}

Bytes compressed(const Bytes& bytes) {
  uLongf size = compressBound(bytes.size());
  Bytes result(size);
  if (compress(reinterpret_cast<Bytef*>(result.data()), &size,
               reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) != Z_OK)
    throw Error(ErrorKind::resource, "no memory to compress a picture");
  result.resize(size);
  return result;
}

}  // namespace

std::vector<std::byte> png_of(const Canvas& canvas) {
  static_assert(sizeof(Colour) == 3);
  const std::size_t of_row = 3 * static_cast<std::size_t>(canvas.width());
  const auto* pixels = reinterpret_cast<const std::byte*>(canvas.pixels().data());
  Bytes rows;
  for (int y = 0; y < canvas.height(); ++y) {
    const std::byte* row = pixels + static_cast<std::size_t>(y) * of_row;
    const Bytes bytes = filtered(row, y == 0 ? nullptr : row - of_row, of_row);
    rows.insert(rows.end(), bytes.begin(), bytes.end());
  }
  Bytes header;
  add_number(header, static_cast<std::uint32_t>(canvas.width()));
  add_number(header, static_cast<std::uint32_t>(canvas.height()));
  // Bits of a channel; red, green and blue; zlib; filters; not interlaced.
  for (const int value : {8, 2, 0, 0, 0}) header.push_back(static_cast<std::byte>(value));

  Bytes file;
  for (const char letter : std::string_view("\x89PNG\r\n\x1a\n"))
    file.push_back(static_cast<std::byte>(letter));
  add_chunk(file, "IHDR", header);
  add_chunk(file, "IDAT", compressed(rows));
  add_chunk(file, "IEND", {});
  return file;
}

}  // namespace halocline
