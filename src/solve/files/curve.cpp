// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/text/words.hpp"
#include "files/plot.hpp"
#include "files/png.hpp"
#include "files/png_bytes.hpp"
#include "text/refuse.hpp"

namespace halocline {
namespace {

using plot::gap;
using plot::ink;
using plot::margin;

// Blue of the middle of the colour map, dark enough for a line on white.
constexpr Colour line_colour{49, 104, 142};

// All in pixels.
constexpr int plot_width = 768;
constexpr int plot_height = 384;
constexpr int line_width = 2;
constexpr int point_size = 6;
constexpr int headroom = 8;           // between the curve and the frame
constexpr int fewest_per_point = 12;  // pixels per value; with fewer, points would touch

class CurveDrawing {
 public:
  explicit CurveDrawing(const Curve& curve)
      : values_(curve.values),
        cells_(curve.cells > 0 ? curve.cells : count()),
        range_(curve.range.value_or(range_of(curve.values))),
        labels_(plot::tick_labels(range_)),
        title_(curve.title.substr(0, plot::longest_title)),
        title_room_(curve.room.title),
        subtitle_{.text = counted(cells_, "cell"),
                  .not_finite = std::count_if(curve.values.begin(), curve.values.end(),
                                              [](double value) { return !std::isfinite(value); })} {
    int label_width = curve.room.labels * text_advance;
    for (const std::string& label : labels_) label_width = std::max(label_width, text_width(label));
    plot_ = {.left = margin + label_width + gap + plot::tick_length,
             .top = top_of_subtitle() + plot::line_height + gap,
             .width = static_cast<int>(std::max<std::int64_t>(plot_width, count())),
             .height = plot_height};
  }

  Canvas paint() const {
    const int width = std::max({plot_.right(), margin + text_width(title_),
                                margin + title_room_ * text_advance, margin + subtitle_.width()}) +
                      margin;
    Canvas canvas(width, plot_.bottom() + gap + text_height + margin, plot::paper);
    canvas.write(margin, margin, title_, ink);
    subtitle_.write(canvas, margin, top_of_subtitle());
    plot::frame(canvas, plot_);
    canvas.fill(plot_, plot::paper);
    plot::label_x(canvas, plot_, cells_);
    paint_ticks(canvas);
    for (std::int64_t i = 0; i < count(); ++i) paint_value(canvas, i);
    return canvas;
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(values_.size()); }
  double value(std::int64_t i) const { return values_[static_cast<std::size_t>(i)]; }
  int top_of_subtitle() const { return title_.empty() ? margin : margin + plot::line_height; }
  bool is_constant() const { return !(range_.max > range_.min); }

  int left_of(std::int64_t i) const {
    return plot_.left + static_cast<int>(i * plot_.width / count());
  }
  double middle_of(std::int64_t i) const { return (left_of(i) + left_of(i + 1)) / 2.0; }

  /// The row of a value, from the top.
  double row_of(double value) const {
    const double share = is_constant() ? 0.5 : share_of(value);
    return plot_.bottom() - headroom - share * (plot_.height - 2 * headroom);
  }

  /// 0 at the least value, 1 at the largest; those outside a given range lie at its ends.
  double share_of(double value) const {
    value = std::clamp(value, range_.min, range_.max);
    const double range = range_.max - range_.min;
    if (std::isfinite(range)) return (value - range_.min) / range;
    // Halves of large values are exact; those of the smallest would be 0.
    return (value / 2 - range_.min / 2) / (range_.max / 2 - range_.min / 2);
  }

  void paint_ticks(Canvas& canvas) const {
    const std::array<double, 3> values{range_.min, plot::middle_of(range_), range_.max};
    for (std::size_t tick = 0; tick < 3; ++tick) {
      if (is_constant() && tick != 1) continue;
      const int row = static_cast<int>(row_of(values[tick]));
      canvas.fill({plot_.left, row, plot_.width, 1}, grid_colour);
      canvas.fill({plot_.left - 1 - plot::tick_length, row, plot::tick_length, 1}, ink);
      const int left = plot_.left - plot::tick_length - gap - text_width(labels_[tick]);
      canvas.write(left, row - text_height / 2, labels_[tick], ink);
    }
  }

  /// A value, and the line to the next one.
  void paint_value(Canvas& canvas, std::int64_t i) const {
    if (!std::isfinite(value(i))) {
      const int left = left_of(i);
      canvas.fill({left, plot_.top, std::max(1, left_of(i + 1) - left), plot_.height},
                  not_finite_colour);
      return;
    }
    const bool is_last = i + 1 == count();
    const bool is_alone =
        (i == 0 || !std::isfinite(value(i - 1))) && (is_last || !std::isfinite(value(i + 1)));
    if (is_alone || plot_.width / count() >= fewest_per_point)
      canvas.fill({static_cast<int>(middle_of(i)) - point_size / 2,
                   static_cast<int>(row_of(value(i))) - point_size / 2, point_size, point_size},
                  line_colour);
    if (!is_last && std::isfinite(value(i + 1))) paint_line(canvas, i);
  }

  /// Column by column, each as high as the line rises in it, so that steep lines have no holes.
  void paint_line(Canvas& canvas, std::int64_t i) const {
    const double begin = middle_of(i), end = middle_of(i + 1);
    const double from = row_of(value(i)), to = row_of(value(i + 1));
    for (double x = begin; x < end; x += 1) {
      const double next = std::min(x + 1, end);
      const double row = from + (to - from) * (x - begin) / (end - begin);
      const double next_row = from + (to - from) * (next - begin) / (end - begin);
      const int top = static_cast<int>(std::min(row, next_row));
      const int bottom = static_cast<int>(std::max(row, next_row));
      canvas.fill({static_cast<int>(x), top, line_width, bottom - top + line_width}, line_colour);
    }
  }

  static constexpr Colour grid_colour{225, 225, 225};

  std::span<const double> values_;
  std::int64_t cells_;
  ValueRange range_;
  std::array<std::string, 3> labels_;
  std::string title_;
  int title_room_;
  plot::Subtitle subtitle_;
  Rectangle plot_;
};

}  // namespace

std::vector<std::byte> encode_png(const Curve& curve) {
  if (curve.values.empty()) refuse("a curve of no values cannot be drawn");
  return png_of(CurveDrawing(curve).paint());
}

}  // namespace halocline
