// SPDX-License-Identifier: Apache-2.0
// Halos of bricks without packing: the bricks that go to a neighbour are pages, which are mapped a
// second time, behind each other, so that MPI sends them from and to where they are.

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/pages.hpp"
#include "base/recorder.hpp"
#include "bench/byte_ranges.hpp"
#include "bench/halo_ways.hpp"
#include "bench/page_views.hpp"
#include "bench/rivals.hpp"
#include "comm/collectives.hpp"
#include "grid/halo_regions.hpp"
#include "mpi/derived_types.hpp"
#include "solver/levels.hpp"

namespace halocline::bench {
namespace {

std::int64_t bytes_of_brick(const FieldStorage& field) {
  return field.as_bricks()->brick_step.x * field.shape().element_bytes;
}

/// Fields by their first byte: one that follows another is in the next level, too.
using Files = std::map<std::byte*, PagedMemory>;

/// The halo of a level: a message for each direction of each field.
class ViewedLevel {
 public:
  ViewedLevel(const solver::Runner& runner, const solver::Level& level, Files& files) {
    std::vector<mpi::Swap> swaps;
    comm::together(runner.communicator(), [&] {
      for (const std::size_t f : runner.the_case().exchanged_fields())
        add(runner, level[f], files, swaps);
    });
    swaps_.emplace(runner.communicator(), swaps);
  }

  void run() { swaps_->run(); }

  std::int64_t messages = 0, bytes = 0;  ///< from this rank to others
  std::int64_t pieces = 0;               ///< of the fields, which these messages are mapped from

 private:
  void add(const solver::Runner& runner, const FieldStorage& field, Files& files,
           std::vector<mpi::Swap>& swaps) {
    const auto file = files.try_emplace(field.bytes(), field.bytes(), field.allocated_bytes());
    const Grid& grid = runner.exchange_grid();
    const solver::Case& the_case = runner.the_case();
    for (const grid::HaloRegion& region :
         grid::halo_regions(grid, grid.rank(), the_case.halo(), the_case.neighbours())) {
      const std::vector<Run> sent = ranges_of(field, {region.send}, bytes_of_brick(field)),
                             received = ranges_of(field, {region.receive}, bytes_of_brick(field));
      mpi::Swap& swap = swaps.emplace_back(swap_across(region, fields_));
      swap.out = see(file.first->second, sent);
      swap.in = see(file.first->second, received);
      if (region.peer == grid.rank() || sent.empty()) continue;
      ++messages;
      bytes += bytes_of(sent);
      pieces += std::ssize(sent);
    }
    ++fields_;
  }

  mpi::Subarray see(const PagedMemory& memory, const std::vector<Run>& ranges) {
    if (ranges.empty()) return {};
    views_.push_back(memory.view(ranges));
    const std::vector<std::int64_t> doubles{bytes_of(ranges) / 8};
    return {.array = views_.back().get(), .sizes = doubles, .starts = {0}, .box = doubles};
  }

  int fields_ = 0;
  std::vector<std::shared_ptr<std::byte>> views_;
  std::optional<mpi::DerivedTypes> swaps_;
};

class MappedViews final : public HaloMover {
 public:
  explicit MappedViews(solver::Runner& runner) : runner_(runner) {
    for (const solver::Level& level : runner.levels())
      levels_.push_back(std::make_unique<ViewedLevel>(runner, level, files_));
    messages = levels_[0]->messages;
    bytes = levels_[0]->bytes;
    pieces = levels_[0]->pieces;
  }

  /// All of it is a wait.
  void run(std::int64_t level, Stream) override {
    const Span span(comm::recorder(runner_.communicator()), Phase::wait, "mapped views", bytes);
    levels_[static_cast<std::size_t>(level)]->run();
  }

 private:
  solver::Runner& runner_;
  Files files_;
  std::vector<std::unique_ptr<ViewedLevel>> levels_;
};

}  // namespace

std::unique_ptr<HaloMover> move_mapped_views(solver::Runner& runner) {
  return std::make_unique<MappedViews>(runner);
}

std::optional<std::string> why_no_views(const WayPlace& place) {
  if (place.target.gpu) return "it is for CPUs: a GPU maps pages of 2 MiB, which are many bricks";
  return std::nullopt;
}

std::optional<std::string> why_no_views_of_cells(const WayPlace& place) {
  const solver::Case& the_case = place.the_case;
  const Extents& brick = the_case.brick;
  if (brick.axes() == 0) return "rows of different neighbours share pages";
  std::int64_t bytes = the_case.element_bytes();
  for (int axis = 0; axis < brick.axes(); ++axis) bytes *= brick[axis];
  if (bytes % page_bytes() != 0)
    return fmt::format("a brick has {} bytes, a page {}; use larger bricks", bytes, page_bytes());
  // Else bricks of the halo would not be those that the neighbour has.
  const Grid grid(place.communicator, the_case.grid);
  for (int rank = 0; rank < grid.ranks(); ++rank)
    for (int axis = 0; axis < brick.axes(); ++axis)
      if (const std::int64_t cells = grid.owned(rank).extent()[axis]; cells % brick[axis] != 0)
        return fmt::format("{} cells of rank {} along {} are not whole bricks of {}", cells, rank,
                           "xyz"[axis], brick[axis]);
  return std::nullopt;
}

}  // namespace halocline::bench
