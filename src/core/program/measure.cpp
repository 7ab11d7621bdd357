// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>
#include <halocline/measure.hpp>

#include "comm/collectives.hpp"
#include "device/queue.hpp"
#include "machine/cores.hpp"
#include "program/copy_cells.hpp"
#include "program/fill.hpp"
#include "program/noise.hpp"
#include "program/shares.hpp"

namespace halocline {
namespace {

void require_measurable(const Grid& grid, const FieldStorage& field) {
  const FieldShape& shape = field.shape();
  if (shape.components != 1 || (shape.element_bytes != 4 && shape.element_bytes != 8))
    throw Error(ErrorKind::usage, fmt::format("field '{}' has {} components of {} bytes; these "
                                              "functions need one float or double per cell",
                                              field.name(), shape.components, shape.element_bytes));
  if (!shape.may_be_real)
    throw Error(ErrorKind::usage,
                fmt::format("the elements of field '{}' are of another type than float and double; "
                            "these functions need one float or double per cell",
                            field.name()));
  if (!(shape.owned == grid.owned()))
    throw Error(ErrorKind::usage, fmt::format("field '{}' belongs to another grid", field.name()));
}

/// A field in rows for access by the host: itself, or a copy of all bytes from its first owned cell
/// to its last, or of its cells if they are not in rows.
class HostView {
 public:
  HostView(const Grid& grid, const FieldStorage& field) : field_(field), view_(field) {
    if (!field.as_strided()) {
      view_ = program::make_rows(grid, field);
      program::copy_owned(field, view_);
      return;
    }
    if (host_reads(field.shape().memory)) return;
    const Int3 cells = field.shape().owned.extent();
    const Strides& step = field.strides();
    std::int64_t elements = 1;
    for (int axis = 0; axis < grid.axes(); ++axis)
      elements += (cells[axis] - 1) * (axis == 0 ? step.x : axis == 1 ? step.y : step.z);
    bytes_.resize(static_cast<std::size_t>(elements * field.shape().element_bytes));
    device::copy(bytes_.data(), field.first_owned(), size(), Stream::host());
    const FieldOptions options{.name = field.name(), .halo = 0};
    if (field.shape().element_bytes == 4)
      view_ = Field<float>(grid, reinterpret_cast<float*>(bytes_.data()), step, options);
    else
      view_ = Field<double>(grid, reinterpret_cast<double*>(bytes_.data()), step, options);
  }

  const FieldStorage& get() const { return view_; }
  void write_back() const {
    if (!field_.as_strided()) return program::copy_owned(view_, field_);
    if (!bytes_.empty()) device::copy(field_.first_owned(), bytes_.data(), size(), Stream::host());
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }

  const FieldStorage& field_;
  std::vector<std::byte> bytes_;
  FieldStorage view_;
};

}  // namespace

void fill_noise(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
                std::uint64_t seed) {
  const int threads = machine::default_threads(communicator);
  comm::together(communicator, [&] {
    require_measurable(grid, field);
    const HostView view(grid, field);
    const Int3 cells = grid.cells().values();
    program::fill_owned(
        view.get(),
        [&](Int3 first, std::int64_t count, double* values) {
          program::noise_row(cells, seed, first, count, values);
        },
        threads);
    view.write_back();
  });
}

std::uint64_t checksum(const Communicator& communicator, const Grid& grid,
                       const FieldStorage& field) {
  const int threads = machine::default_threads(communicator);
  std::uint64_t mine = 0;
  comm::together(communicator, [&] {
    require_measurable(grid, field);
    mine = program::checksum(HostView(grid, field).get(), grid, threads);
  });
  return comm::sum_over_ranks(communicator, mine);
}

double sum(const Communicator& communicator, const Grid& grid, const FieldStorage& field) {
  const int threads = machine::default_threads(communicator);
  double mine = 0;
  comm::together(communicator, [&] {
    require_measurable(grid, field);
    mine = program::sum(HostView(grid, field).get(), threads);
  });
  return comm::sum_in_rank_order(communicator, mine);
}

double norm(const Communicator& communicator, Norm kind, double share) {
  if (kind == Norm::none)
    throw Error(ErrorKind::usage,
                fmt::format("there is no norm '{}'; there are: max, l2", name_of(kind)));
  using Kind = comm::NonblockingAllReduce::Kind;
  comm::NonblockingAllReduce reduction(communicator);
  reduction.start(kind == Norm::max ? Kind::max : Kind::sum, share);
  const double all = reduction.finish();
  return kind == Norm::max ? all : std::sqrt(all);
}

}  // namespace halocline
