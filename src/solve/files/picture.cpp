// SPDX-License-Identifier: Apache-2.0
#include "files/picture.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "comm/collectives.hpp"
#include "field/cells.hpp"
#include "field/elements.hpp"
#include "files/bytes_of.hpp"
#include "files/field_array.hpp"
#include "files/png.hpp"

namespace halocline::files {
namespace {

/// The most samples along an axis, as many as a picture has pixels.
constexpr std::int64_t most_samples = 1024;

/// Every `step`-th cell along an axis, the middle one of the `step` cells that it represents.
struct SampledAxis {
  std::int64_t cells;
  std::int64_t step;

  std::int64_t count() const { return (cells + step - 1) / step; }
  std::int64_t cell(std::int64_t sample) const {
    return std::min(sample * step + step / 2, cells - 1);
  }
  /// How many samples lie before `cell`.
  std::int64_t before(std::int64_t cell) const {
    if (cell >= cells) return count();
    return std::max<std::int64_t>(0, (cell - step / 2 + step - 1) / step);
  }
};

/// The samples of a plane; x and y count samples, z counts cells.
class SampledPlane {
 public:
  explicit SampledPlane(const Grid& grid) : axes_(grid.axes()), z_(grid.cells().values().z / 2) {
    const Int3& cells = grid.cells().values();
    const std::int64_t step = (std::max(cells.x, cells.y) + most_samples - 1) / most_samples;
    x_ = {cells.x, step};
    y_ = {cells.y, step};
  }

  std::int64_t width() const { return x_.count(); }
  std::int64_t height() const { return y_.count(); }

  /// Returns the box of the samples in `cells`.
  Box among(const Box& cells) const {
    if (z_ < cells.lower.z || z_ >= cells.upper.z) return {};
    return {{x_.before(cells.lower.x), y_.before(cells.lower.y), z_},
            {x_.before(cells.upper.x), y_.before(cells.upper.y), z_ + 1}};
  }

  Int3 cell(std::int64_t x, std::int64_t y) const { return {x_.cell(x), y_.cell(y), z_}; }

  /// Describes the part of the field in the picture; empty if it is the whole field.
  std::string description() const {
    std::string text;
    if (axes_ == 3) text += fmt::format(", z = {}", z_);
    if (x_.step == 1) return text;
    return text + (axes_ == 1 ? fmt::format(", one cell in {}", x_.step)
                              : fmt::format(", one cell in {0} x {0}", x_.step));
  }

 private:
  int axes_;
  std::int64_t z_;
  SampledAxis x_{}, y_{};
};

std::vector<double> sample(const FieldStorage& field, const SampledPlane& plane) {
  const Box box = plane.among(field.shape().owned);
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(box.cells()));
  field::with_real(field, [&]<class Real>() {
    const FieldView<const Real> view = field::view_of<const Real>(field);
    for (std::int64_t y = box.lower.y; y < box.upper.y; ++y)
      for (std::int64_t x = box.lower.x; x < box.upper.x; ++x) {
        const Int3 cell = plane.cell(x, y);
        values.push_back(static_cast<double>(view(cell.x, cell.y, cell.z)));
      }
  });
  return values;
}

/// Gathers the samples of all ranks on rank 0.
std::vector<double> gather(const Communicator& communicator, const Grid& grid,
                           const SampledPlane& plane, std::span<const double> mine) {
  if (communicator.rank() != 0) {
    comm::send(communicator, 0, std::as_bytes(mine));
    return {};
  }
  std::vector<double> picture(static_cast<std::size_t>(plane.width() * plane.height()));
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const Box box = plane.among(grid.owned(rank));
    std::vector<double> values(mine.begin(), mine.end());
    if (rank > 0) {
      values.resize(static_cast<std::size_t>(box.cells()));
      comm::receive(communicator, rank, std::as_writable_bytes(std::span(values)));
    }
    const std::int64_t width = box.extent().x;
    for (std::int64_t y = 0; y < box.extent().y; ++y)
      std::copy_n(values.begin() + y * width, width,
                  picture.begin() + (box.lower.y + y) * plane.width() + box.lower.x);
  }
  return picture;
}

std::optional<ColourScale> scale_for(const Look& look, std::span<const double> values) {
  if (look.fixed) return scale_of(*look.fixed, RangeIs::fixed);
  std::optional<ValueRange> range = range_of(values);
  if (!range) range = look.at_least;
  if (!range) return std::nullopt;
  if (look.at_least)
    range = {std::min(range->min, look.at_least->min), std::max(range->max, look.at_least->max)};
  return scale_of(*range);
}

/// Returns that of rank 0.
std::optional<ColourScale> shared(const Communicator& communicator,
                                  const std::optional<ColourScale>& scale) {
  const std::string bytes = comm::broadcast(communicator, scale ? bytes_of(*scale) : "", 0);
  if (bytes.empty()) return std::nullopt;
  ColourScale result;
  std::memcpy(&result, bytes.data(), sizeof result);
  return result;
}

/// Returns the height of the plane over its width; nothing for one axis.
std::optional<double> aspect_of(const Grid& grid, const Look& look) {
  if (grid.axes() == 1) return std::nullopt;
  const Int3& cells = grid.cells().values();
  return look.spacing[1] / look.spacing[0] * static_cast<double>(cells.y) /
         static_cast<double>(cells.x);
}

}  // namespace

Shown write_picture(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
                    const std::string& path, const Look& look) {
  const SampledPlane plane(grid);
  std::vector<double> mine;
  comm::together(communicator, [&] {
    require_scalar(grid, field);
    mine = sample(field, plane);
  });
  const std::vector<double> values = gather(communicator, grid, plane, mine);
  const std::string part = plane.description();
  std::optional<ColourScale> scale;
  comm::on_first_rank(communicator, [&] {
    scale = scale_for(look, values);
    TemporaryFile file(path, look.otherwise);
    file.write(encode_png({.width = plane.width(),
                           .height = plane.height(),
                           .values = values,
                           .aspect = aspect_of(grid, look),
                           .scale = scale,
                           .title = look.title + part}));
    file.commit();
  });
  return {shared(communicator, scale), part};
}

}  // namespace halocline::files
