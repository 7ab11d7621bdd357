// SPDX-License-Identifier: Apache-2.0
#include "files/png.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "base/files/temporary_file.hpp"
#include "files/canvas.hpp"
#include "files/plot.hpp"
#include "files/png_bytes.hpp"
#include "text/refuse.hpp"

namespace halocline {
namespace {

using plot::faint_ink;
using plot::gap;
using plot::ink;
using plot::line_height;
using plot::margin;
using plot::tick_length;

// All in pixels.
constexpr int bar_width = 20;
constexpr int largest_cell = 96;
constexpr int aimed_plot_size = 768;
constexpr int largest_plot_size = 1024;
constexpr int smallest_plot_size = 64;

/// Maps the cells along an axis to pixels.
struct Axis {
  std::int64_t cells = 0;
  int pixels = 0;

  /// Returns the first cell of `pixel`; its cells end at that of the next pixel, but are at least
  /// one.
  std::int64_t first_cell(std::int64_t pixel) const { return pixel * cells / pixels; }
  std::int64_t end_cell(std::int64_t pixel) const {
    return std::max(first_cell(pixel + 1), first_cell(pixel) + 1);
  }
};

Axis axis_of(std::int64_t cells, std::int64_t cells_of_longer_axis) {
  std::int64_t pixels = 0;
  if (cells_of_longer_axis > largest_plot_size) {
    const std::int64_t share = (cells_of_longer_axis + largest_plot_size - 1) / largest_plot_size;
    pixels = (cells + share - 1) / share;
  } else {
    pixels =
        cells * std::clamp<std::int64_t>(aimed_plot_size / cells_of_longer_axis, 1, largest_cell);
  }
  if (pixels < smallest_plot_size) {
    // A whole number of pixels per cell, or of cells per pixel.
    pixels = cells <= smallest_plot_size ? cells * ((smallest_plot_size + cells - 1) / cells)
                                         : cells / (cells / smallest_plot_size);
  }
  return {cells, static_cast<int>(pixels)};
}

/// Returns the mean of a block of cells; it is not finite if one of them is not.
double mean_of(const Picture& picture, std::array<std::int64_t, 2> xs,
               std::array<std::int64_t, 2> ys) {
  // Weights values before adding them: a sum of large values might overflow.
  const double weight = 1 / static_cast<double>((xs[1] - xs[0]) * (ys[1] - ys[0]));
  double mean = 0;
  for (std::int64_t y = ys[0]; y < ys[1]; ++y)
    for (std::int64_t x = xs[0]; x < xs[1]; ++x)
      mean += weight * picture.values[static_cast<std::size_t>(y * picture.width + x)];
  return mean;
}

std::string stretch_of(const Axis& x, const Axis& y) {
  const double x_scale = x.pixels / static_cast<double>(x.cells);
  const double y_scale = y.pixels / static_cast<double>(y.cells);
  const double ratio = std::max(x_scale, y_scale) / std::min(x_scale, y_scale);
  if (ratio < 1.1) return "";
  return fmt::format(", {} stretched {:.3g} times", x_scale > y_scale ? "x" : "y", ratio);
}

std::int64_t cells_x(const Picture& picture) {
  return picture.cells_x > 0 ? picture.cells_x : picture.width;
}
std::int64_t cells_y(const Picture& picture) {
  return picture.cells_y > 0 ? picture.cells_y : picture.height;
}

/// Draws one picture: measures first, then paints.
class PictureDrawing {
 public:
  explicit PictureDrawing(const Picture& picture)
      : picture_(picture),
        x_(axis_of(picture.width, std::max(picture.width, picture.height))),
        y_(axis_of(picture.height, std::max(picture.width, picture.height))),
        range_(picture.range.value_or(range_of(picture.values))),
        labels_(plot::tick_labels(range_)),
        title_(picture.title.substr(0, plot::longest_title)),
        subtitle_{.text = fmt::format("{} x {} cells{}", cells_x(picture), cells_y(picture),
                                      stretch_of(x_, y_)),
                  .not_finite = std::count_if(picture.values.begin(), picture.values.end(),
                                              [](double value) { return !std::isfinite(value); })} {
    place();
  }

  Canvas paint() const {
    Canvas canvas(width_, height_, plot::paper);
    canvas.write(margin, margin, title_, ink);
    subtitle_.write(canvas, margin, top_of_subtitle_);
    paint_cells(canvas);
    paint_axes(canvas);
    paint_bar(canvas);
    return canvas;
  }

 private:
  bool is_constant() const { return !(range_.max > range_.min); }

  void place() {
    top_of_subtitle_ = title_.empty() ? margin : margin + line_height;
    plot_.top = top_of_subtitle_ + line_height + gap;
    plot_.left = margin + std::max(text_width("0"), text_width(fmt::format("{}", y_.cells))) + gap;
    plot_.width = x_.pixels;
    plot_.height = y_.pixels;
    bar_ = {plot_.right() + 2 * margin, plot_.top, bar_width, plot_.height};

    int label_width = picture_.room.labels * text_advance;
    for (const std::string& label : labels_) label_width = std::max(label_width, text_width(label));
    width_ = std::max({bar_.right() + tick_length + gap + label_width, margin + text_width(title_),
                       margin + picture_.room.title * text_advance, margin + subtitle_.width()}) +
             margin;
    height_ = plot_.bottom() + gap + text_height + margin;
  }

  void paint_cells(Canvas& canvas) const {
    plot::frame(canvas, plot_);
    for (int j = 0; j < y_.pixels; ++j) {
      if (j > 0 && y_.first_cell(j) == y_.first_cell(j - 1)) continue;  // painted already
      int rows = 1;
      while (j + rows < y_.pixels && y_.first_cell(j + rows) == y_.first_cell(j)) ++rows;
      for (int i = 0; i < x_.pixels; ++i) {
        const double value = mean_of(picture_, {x_.first_cell(i), x_.end_cell(i)},
                                     {y_.first_cell(j), y_.end_cell(j)});
        canvas.fill({plot_.left + i, plot_.bottom() - j - rows, 1, rows}, colour_of(value, range_));
      }
    }
  }

  void paint_axes(Canvas& canvas) const {
    plot::label_x(canvas, plot_, cells_x(picture_));
    const std::string ny = fmt::format("{}", cells_y(picture_));
    const auto write_left = [&](int top, const std::string& text, Colour colour) {
      canvas.write(plot_.left - gap - text_width(text), top, text, colour);
    };
    write_left(plot_.bottom() - text_height, "0", faint_ink);
    write_left(plot_.top + (plot_.height - text_height) / 2, "y", ink);
    write_left(plot_.top, ny, faint_ink);
  }

  void paint_bar(Canvas& canvas) const {
    plot::frame(canvas, bar_);
    for (int j = 0; j < bar_.height; ++j) {
      const double share = (j + 0.5) / bar_.height;
      const double value = range_.min * (1 - share) + range_.max * share;
      canvas.fill({bar_.left, bar_.bottom() - 1 - j, bar_.width, 1}, colour_of(value, range_));
    }
    for (const int tick : is_constant() ? std::vector<int>{1} : std::vector<int>{0, 1, 2}) {
      const int y = bar_.bottom() - tick * (bar_.height - 1) / 2 - 1;
      const int top = std::clamp(y - text_height / 2, bar_.top, bar_.bottom() - text_height);
      canvas.fill({bar_.right() + 1, y, tick_length, 1}, ink);
      canvas.write(bar_.right() + tick_length + gap, top, labels_[static_cast<std::size_t>(tick)],
                   ink);
    }
  }

  const Picture& picture_;
  Axis x_;
  Axis y_;
  ValueRange range_;
  std::array<std::string, 3> labels_;
  std::string title_;
  plot::Subtitle subtitle_;
  int top_of_subtitle_ = 0;
  Rectangle plot_;
  Rectangle bar_;
  int width_ = 0;
  int height_ = 0;
};

void check(const Picture& picture) {
  if (picture.width <= 0 || picture.height <= 0 ||
      picture.values.size() / static_cast<std::size_t>(picture.width) !=
          static_cast<std::size_t>(picture.height) ||
      picture.values.size() % static_cast<std::size_t>(picture.width) != 0)
    refuse("a picture of {} x {} cells cannot show {} values", picture.width, picture.height,
           picture.values.size());
}

void write(const std::string& path, const std::vector<std::byte>& bytes, Otherwise otherwise) {
  TemporaryFile file(path, otherwise);
  file.write(bytes);
  file.commit();
}

}  // namespace

std::vector<std::byte> encode_png(const Picture& picture) {
  check(picture);
  return png_of(PictureDrawing(picture).paint());
}

void write_png(const std::string& path, const Picture& picture, Otherwise otherwise) {
  write(path, encode_png(picture), otherwise);
}

void write_png(const std::string& path, const Curve& curve, Otherwise otherwise) {
  write(path, encode_png(curve), otherwise);
}

}  // namespace halocline
