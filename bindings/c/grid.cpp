// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <halocline/mpi_fortran.hpp>

#include "guard.hpp"
#include "handles.hpp"
#include "translate.hpp"

using namespace halocline;
using binding::checked;
using binding::fillable;
using binding::guarded;
using binding::guarded_beside_others;
using binding::made;
using binding::required;

// A later version adds members at the end of a struct, and earlier_sizes has its size before.
static_assert(sizeof(halocline_grid_options) == 96);
static_assert(sizeof(halocline_grid_info) == 144);

namespace {

GridOptions options_from(const halocline_grid_options& given) {
  int axes = 0;
  while (axes < 3 && given.cells[axes] != 0) ++axes;
  if (std::any_of(given.cells + axes, given.cells + 3, [](std::int64_t n) { return n != 0; }))
    throw Error(ErrorKind::usage, "cells has a 0 before its last axis");
  const Int3 parts = binding::int3(given.process_grid);
  GridOptions options{.cells = {binding::int3(given.cells), axes},
                      .expected_halo = given.expected_widths != nullptr
                                           ? binding::widths(*given.expected_widths)
                                           : HaloWidths(given.expected_halo)};
  std::transform(given.periodic, given.periodic + 3, options.periodic.begin(),
                 [](int value) { return value != 0; });
  if (!(parts == Int3{})) options.process_grid = {parts, axes};
  return options;
}

}  // namespace

halocline_status halocline_grid_create(int communicator, const halocline_grid_options* options,
                                       halocline_grid** grid) {
  return guarded([&] {
    halocline_grid*& result = required(grid, "the place for the grid");
    result = nullptr;
    const halocline_grid_options given = checked(options, "halocline_grid_options");
    const GridOptions wanted = options_from(given);
    const Communicator all = from_mpi_fortran(
        communicator, {.wait_limit = std::chrono::duration<double>(given.wait_limit)});
    result = new halocline_grid{all, Grid(all, wanted)};
  });
}

halocline_status halocline_grid_destroy(halocline_grid** grid) {
  // Finalisers call this too. Its communicator's state lives as long as the original communicator.
  return guarded_beside_others(
      [&] { delete std::exchange(required(grid, "the address of the grid"), nullptr); });
}

halocline_status halocline_grid_get_info(const halocline_grid* grid, halocline_grid_info* info) {
  return guarded_beside_others([&] {
    const Grid& its = made(grid, "grid").grid;
    halocline_grid_info& answer = fillable(info, "halocline_grid_info");
    answer.rank = its.rank();
    answer.ranks = its.ranks();
    answer.axes = its.axes();
    binding::put(its.cells().values(), answer.cells);
    binding::put(its.process_grid().values(), answer.process_grid);
    binding::put(its.place_of(its.rank()), answer.place);
    answer.owned = binding::box(its.owned());
  });
}

halocline_status halocline_grid_neighbour(const halocline_grid* grid, const int direction[3],
                                          int* rank) {
  return guarded_beside_others([&] {
    const Grid& its = made(grid, "grid").grid;
    required(direction, "the direction");
    for (int axis = 0; axis < 3; ++axis)
      if (direction[axis] < -1 || direction[axis] > 1)
        throw Error(ErrorKind::usage, "a direction has -1, 0 or 1 along each axis, not " +
                                          std::to_string(direction[axis]));
    required(rank, "the place for the rank") =
        its.neighbour(its.rank(), {direction[0], direction[1], direction[2]});
  });
}

halocline_status halocline_grid_interior(const halocline_grid* grid, const halocline_widths* reach,
                                         halocline_box* interior) {
  return guarded_beside_others([&] {
    const Grid& its = made(grid, "grid").grid;
    required(interior, "the place for the box") =
        binding::box(its.interior(binding::reach(reach, its)));
  });
}

halocline_status halocline_grid_boundary(const halocline_grid* grid, const halocline_widths* reach,
                                         halocline_box boxes[HALOCLINE_BOUNDARY_BOXES],
                                         int* count) {
  return guarded_beside_others([&] {
    const Grid& its = made(grid, "grid").grid;
    required(boxes, "the place for the boxes");
    int& number = required(count, "the place for the number of boxes");
    const std::vector<Box> all = its.boundary(binding::reach(reach, its));
    std::transform(all.begin(), all.end(), boxes, binding::box);
    number = static_cast<int>(all.size());
  });
}
