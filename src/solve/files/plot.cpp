// SPDX-License-Identifier: Apache-2.0
#include "files/plot.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/words.hpp"

namespace halocline::plot {
namespace {

std::string not_finite_text(std::int64_t count) {
  return fmt::format("not finite: {}", counted(count, "cell"));
}

}  // namespace

double middle_of(const ValueRange& range) {
  const double middle = range.min / 2 + range.max / 2;
  const double noise = 1e-4 * std::max(std::fabs(range.min), std::fabs(range.max));
  return std::fabs(middle) < noise ? 0 : middle;
}

std::array<std::string, 3> tick_labels(const ValueRange& range) {
  std::array<std::string, 3> labels;
  for (int digits = 4; digits <= 17; ++digits) {
    labels = {fmt::format("{:.{}g}", range.min, digits),
              fmt::format("{:.{}g}", middle_of(range), digits),
              fmt::format("{:.{}g}", range.max, digits)};
    if (labels[0] != labels[1] && labels[1] != labels[2]) break;
  }
  return labels;
}

int Subtitle::width() const {
  const int plain = text_width(text);
  return not_finite == 0 ? plain
                         : plain + 4 * gap + text_height + text_width(not_finite_text(not_finite));
}

void Subtitle::write(Canvas& canvas, int left, int top) const {
  canvas.write(left, top, text, faint_ink);
  if (not_finite == 0) return;
  left += text_width(text) + 3 * gap;
  canvas.fill({left, top, text_height, text_height}, not_finite_colour);
  canvas.write(left + text_height + gap, top, not_finite_text(not_finite), ink);
}

void frame(Canvas& canvas, const Rectangle& box) {
  canvas.fill({box.left - 1, box.top - 1, box.width + 2, box.height + 2}, ink);
}

void label_x(Canvas& canvas, const Rectangle& plot, std::int64_t cells) {
  const std::string last = fmt::format("{}", cells);
  const int below = plot.bottom() + gap;
  canvas.write(plot.left, below, "0", faint_ink);
  canvas.write(plot.right() - text_width(last), below, last, faint_ink);
  if (text_width("0") + text_width(last) + 3 * text_advance <= plot.width)
    canvas.write(plot.left + (plot.width - text_width("x")) / 2, below, "x", ink);
}

}  // namespace halocline::plot
