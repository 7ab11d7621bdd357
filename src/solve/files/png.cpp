// SPDX-License-Identifier: Apache-2.0
// https://www.w3.org/TR/png-3: chunks of length, type, data and checksum; rows of colours' numbers,
// each after the number of its filter, in zlib's format. The specification advises no filter for
// palettes.
#include "files/png.hpp"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/words.hpp"
#include "text/refuse.hpp"

namespace halocline {
namespace {

using Bytes = std::vector<std::byte>;

// All in pixels.
constexpr std::int64_t longest_side = 1024, shortest_side = 32, band_height = 64;

struct Size {
  std::int64_t width, height;
};

/// Of values or of pixels.
struct Sides {
  std::int64_t longer, shorter;
};

/// Returns the pixels of so many values. `aspect` is the length of the shorter side over that of
/// the longer one, whichever has more values.
Sides pixels_of(const Sides& values, double aspect) {
  const std::int64_t most = std::max<std::int64_t>(1, longest_side / values.longer);
  // Of a value, its length across for one pixel along.
  const double ratio =
      aspect * static_cast<double>(values.longer) / static_cast<double>(values.shorter);
  for (std::int64_t along = most; 2 * along > most; --along) {
    const double wanted = ratio * static_cast<double>(along), across = std::round(wanted);
    const Sides sides{along * values.longer, static_cast<std::int64_t>(across) * values.shorter};
    if (sides.shorter >= shortest_side && std::fabs(across - wanted) <= 0.01 * wanted) return sides;
  }
  const std::int64_t longer = most * values.longer;
  return {longer, std::max(shortest_side, std::lround(aspect * static_cast<double>(longer)))};
}

Size size_of(const Picture& picture) {
  const double aspect = picture.aspect.value_or(0);
  if (aspect <= 1) {
    const auto [width, height] = pixels_of({picture.width, picture.height}, aspect);
    return {width, picture.aspect ? height : band_height};
  }
  const auto [height, width] = pixels_of({picture.height, picture.width}, 1 / aspect);
  return {width, height};
}

void add_number(Bytes& bytes, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<std::byte>(number >> shift));
}

void add_text(Bytes& bytes, std::string_view text) {
  for (const char letter : text) bytes.push_back(static_cast<std::byte>(letter));
}

void add_chunk(Bytes& file, std::string_view type, const Bytes& data) {
  add_number(file, static_cast<std::uint32_t>(data.size()));
  const std::size_t begin = file.size();
  add_text(file, type);
  file.insert(file.end(), data.begin(), data.end());
  const auto* checked = reinterpret_cast<const Bytef*>(file.data() + begin);
  add_number(file,
             static_cast<std::uint32_t>(crc32(0, checked, static_cast<uInt>(file.size() - begin))));
}

void add_text_chunk(Bytes& file, std::string_view keyword, std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  Bytes data;
  add_text(data, keyword);
  data.push_back(std::byte{0});
  add_text(data, text);
  add_chunk(file, "tEXt", data);
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

/// Returns the rows from the top, each after the number of its filter, none.
Bytes rows_of(const Picture& picture, const Size& size) {
  const ValueRange range = picture.scale.value_or(ColourScale()).range;
  Bytes rows;
  rows.reserve(static_cast<std::size_t>(size.height * (size.width + 1)));
  for (std::int64_t row = size.height - 1; row >= 0; --row) {
    const std::int64_t y = row * picture.height / size.height;
    rows.push_back(std::byte{0});
    for (std::int64_t column = 0; column < size.width; ++column) {
      const std::int64_t x = column * picture.width / size.width;
      rows.push_back(static_cast<std::byte>(
          colour_number(picture.values[static_cast<std::size_t>(y * picture.width + x)], range)));
    }
  }
  return rows;
}

std::string description_of(const Picture& picture) {
  if (!picture.scale) return "no value is finite";
  const auto not_finite = std::count_if(picture.values.begin(), picture.values.end(),
                                        [](double value) { return !std::isfinite(value); });
  return fmt::format(
      "{}: {}{}", name_of(picture.scale->map), picture.scale->text(),
      not_finite > 0 ? fmt::format("; not finite: {}", counted(not_finite, "cell")) : "");
}

void check(const Picture& picture) {
  if (picture.width <= 0 || picture.height <= 0 ||
      std::ssize(picture.values) != picture.width * picture.height)
    refuse("a picture of {} x {} cells cannot show {} values", picture.width, picture.height,
           picture.values.size());
}

}  // namespace

std::vector<std::byte> encode_png(const Picture& picture) {
  check(picture);
  const Size size = size_of(picture);
  Bytes header;
  add_number(header, static_cast<std::uint32_t>(size.width));
  add_number(header, static_cast<std::uint32_t>(size.height));
  // Bits of a number; of a palette; zlib; filters; not interlaced.
  for (const int value : {8, 3, 0, 0, 0}) header.push_back(static_cast<std::byte>(value));
  Bytes palette;
  for (const auto& [red, green, blue] : palette_of(picture.scale.value_or(ColourScale()).map))
    for (const std::uint8_t part : {red, green, blue}) palette.push_back(std::byte{part});

  Bytes file;
  add_text(file, "\x89PNG\r\n\x1a\n");
  add_chunk(file, "IHDR", header);
  add_chunk(file, "PLTE", palette);
  add_text_chunk(file, "Title", picture.title);
  add_text_chunk(file, "Description", description_of(picture));
  add_chunk(file, "IDAT", compressed(rows_of(picture, size)));
  add_chunk(file, "IEND", {});
  return file;
}

}  // namespace halocline
