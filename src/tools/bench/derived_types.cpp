// SPDX-License-Identifier: Apache-2.0
// Halos by derived datatypes of MPI, as in programs without Halocline: a rival in bench halo, a way
// in bench layout.

#include "mpi/derived_types.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/recorder.hpp"
#include "bench/combinations.hpp"
#include "bench/halo_ways.hpp"
#include "bench/rivals.hpp"
#include "comm/collectives.hpp"
#include "exchange/selection/proved.hpp"
#include "grid/halo_regions.hpp"
#include "link/wait_for.hpp"
#include "mpi/reported_capabilities.hpp"
#include "transport/transport.hpp"

namespace halocline::bench {
namespace {

/// An axis of a field's array, or its components.
struct Axis {
  int index;  ///< 0 to 2, 3 for components
  std::int64_t elements, stride;
  std::int64_t per_cell = 1;  ///< elements of a cell along the axis
};

/// The axes of more than one element, slowest first, each a multiple of the next.
std::vector<Axis> axes_of(const FieldStorage& field) {
  const FieldShape& shape = field.shape();
  const Strides& strides = field.strides();
  const Int3 held = shape.held().extent();
  std::vector<Axis> axes;
  for (const Axis& axis :
       {Axis{0, held.x, strides.x}, Axis{1, held.y, strides.y}, Axis{2, held.z, strides.z},
        Axis{3, shape.components, strides.component}})
    if (axis.elements > 1) axes.push_back(axis);
  std::sort(axes.begin(), axes.end(),
            [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  // Counts components as elements of a row, since the padding may not be whole cells.
  if (axes.size() > 1 && axes.back().index == 3 && axes.back().stride == 1 &&
      axes[axes.size() - 2].stride == shape.components) {
    axes.pop_back();
    axes.back().per_cell = shape.components;
    axes.back().elements *= shape.components;
    axes.back().stride = 1;
  }
  for (std::size_t i = 1; i < axes.size(); ++i)
    if (axes[i - 1].stride % axes[i].stride != 0)
      throw Error(ErrorKind::usage, fmt::format("field '{}' does not lie in an array of MPI: its "
                                                "strides {} and {} are no multiples; use others",
                                                field.name(), axes[i - 1].stride, axes[i].stride));
  return axes;
}

/// Returns a box of a field's cells with all components.
mpi::Subarray subarray_of(const FieldStorage& field, const Box& box) {
  const FieldShape& shape = field.shape();
  const Strides& strides = field.strides();
  const Int3 first = shape.held().lower, lead = shape.owned.lower - first;
  mpi::Subarray result{
      .array = field.first_owned() -
               (lead.x * strides.x + lead.y * strides.y + lead.z * strides.z) * shape.element_bytes,
      .element_bytes = shape.element_bytes};
  if (box.empty()) return result;
  std::int64_t outer = 0;  // stride of the axis before
  for (const Axis& axis : axes_of(field)) {
    const bool is_cell = axis.index < 3;
    result.sizes.push_back(outer == 0 ? axis.elements : outer / axis.stride);
    result.starts.push_back(is_cell ? (box.lower[axis.index] - first[axis.index]) * axis.per_cell
                                    : 0);
    result.box.push_back(is_cell ? box.extent()[axis.index] * axis.per_cell : axis.elements);
    outer = axis.stride;
  }
  // A single element, or elements that are not contiguous.
  if (outer != 1) {
    result.sizes.push_back(std::max<std::int64_t>(outer, 1));
    result.starts.push_back(0);
    result.box.push_back(1);
  }
  return result;
}

class DerivedTypesExchange final : public RivalExchange {
 public:
  DerivedTypesExchange(const RivalPlace& place, const FieldList& fields, Neighbours neighbours) {
    std::vector<mpi::Swap> swaps;
    comm::together(place.communicator, [&] { swaps = swaps_of(place.grid, fields, neighbours); });
    types_.emplace(place.communicator, swaps);
  }

  void run() override { types_->run(); }

 private:
  std::vector<mpi::Swap> swaps_of(const Grid& grid, const FieldList& fields,
                                  Neighbours neighbours) {
    std::vector<mpi::Swap> swaps;
    int number = 0;
    for (const FieldStorage& field : fields) {
      const FieldShape& shape = field.shape();
      for (const grid::HaloRegion& region :
           grid::halo_regions(grid, grid.rank(), shape.halo, neighbours)) {
        mpi::Swap& swap = swaps.emplace_back(swap_across(region, number));
        swap.out = subarray_of(field, region.send);
        swap.in = subarray_of(field, region.receive);
        if (region.peer == grid.rank() || region.send.empty()) continue;
        ++messages;
        bytes += region.send.cells() * shape.components * shape.element_bytes;
      }
      ++number;
    }
    return swaps;
  }

  std::optional<mpi::DerivedTypes> types_;
};

class TypedHalos final : public HaloMover {
 public:
  explicit TypedHalos(solver::Runner& runner) : runner_(runner) {
    const solver::Case& the_case = runner.the_case();
    const RivalPlace place{runner.communicator(), runner.exchange_grid(), runner.target().memory,
                           runner.proofs()};
    for (const solver::Level& level : runner.levels()) {
      FieldList fields;
      for (const std::size_t f : the_case.exchanged_fields()) fields.emplace_back(level[f]);
      exchanges_.push_back(make_derived_types(place, fields, the_case.neighbours()));
    }
    messages = exchanges_[0]->messages;
    bytes = exchanges_[0]->bytes;
  }

  /// Records all time as a wait, since MPI does not separate packing from sending.
  void run(std::int64_t level, Stream stream) override {
    link::wait_for(runner_.communicator(), stream);
    const Span span(comm::recorder(runner_.communicator()), Phase::wait, "derived datatypes",
                    bytes);
    exchanges_[static_cast<std::size_t>(level)]->run();
  }

 private:
  solver::Runner& runner_;
  std::vector<std::unique_ptr<RivalExchange>> exchanges_;  // for each level
};

/// Returns whether a rank sends to itself.
bool some_wrap_around(const Grid& grid) {
  for (int axis = 0; axis < grid.axes(); ++axis)
    if (grid.periodic(axis) && grid.process_grid()[axis] == 1) return true;
  return false;
}

}  // namespace

mpi::Swap swap_across(const grid::HaloRegion& region, int field) {
  constexpr int most_directions = 27;
  const int direction = grid::direction_index(region.direction);
  return {.peer = region.peer,
          .tag_out = field * most_directions + direction,
          .tag_in = field * most_directions + most_directions - 1 - direction,
          .out = {},
          .in = {}};
}

std::optional<std::string> why_no_derived_types(const RivalPlace& of) {
  using Stand = exchange::Proved::Stand;
  const transport::Transport& gpu_aware = transport::find_transport("gpu_aware");
  if (gpu_aware.unavailable(transport::Pair::same_node, of.memory) && host_reads(of.memory))
    return std::nullopt;
  if (some_wrap_around(of.grid))
    return fmt::format("nothing proves that MPI takes {} memory from a rank to itself",
                       name_of(of.memory));
  const std::vector<transport::Pair> pairs = pairs_between_ranks(of.communicator);
  const exchange::ProvedTransports proved =
      proofs_for(of.communicator, pairs, of.memory, of.proofs);
  for (const transport::Pair pair : pairs) {
    if (const auto why = gpu_aware.unavailable(pair, of.memory)) return why;
    const Stand stand = exchange::proved_of(proved, gpu_aware, pair).stand;
    if (stand == Stand::fails)
      return "MPI fails with it in a test of gpu_aware; halocline doctor tells how, and a fix";
    if (stand == Stand::unknown)
      return "no proof of gpu_aware shows that MPI takes it here; halocline doctor makes one";
  }
  // The proof is for contiguous bytes. If only UCX supports GPUs, Open MPI packs other data on the
  // host, which crashes reading GPU memory.
  const std::int64_t denies = mpi::reported_capabilities().takes_gpu.value_or(false) ? 0 : 1;
  if (comm::max_over_ranks(of.communicator, denies) > 0)
    return fmt::format(
        "MPI takes {} memory, but does not say so of itself (MPIX_Query_cuda_support), and may "
        "pack derived datatypes on the host",
        name_of(of.memory));
  return std::nullopt;
}

std::unique_ptr<RivalExchange> make_derived_types(const RivalPlace& place, const FieldList& fields,
                                                  Neighbours neighbours) {
  return std::make_unique<DerivedTypesExchange>(place, fields, neighbours);
}

std::unique_ptr<HaloMover> move_derived_types(solver::Runner& runner) {
  return std::make_unique<TypedHalos>(runner);
}

std::optional<std::string> why_not_derived_types(const WayPlace& place) {
  const Grid grid(place.communicator, place.the_case.grid);
  return why_no_derived_types({place.communicator, grid, place.target.memory, place.proofs});
}

}  // namespace halocline::bench
