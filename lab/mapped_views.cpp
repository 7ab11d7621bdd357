// SPDX-License-Identifier: Apache-2.0
// Views of the host's memory, which MPI sends from and to where it is; and why there can be none.

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/pages.hpp"
#include "base/recorder.hpp"
#include "bench/byte_ranges.hpp"
#include "bench/rivals.hpp"
#include "comm/collectives.hpp"
#include "device/sharing.hpp"
#include "lab/gpu_pages.hpp"
#include "lab/host_pages.hpp"
#include "lab/viewed_bricks.hpp"
#include "mpi/derived_types.hpp"
#include "solver/engine/levels.hpp"

namespace halocline::bench {
namespace {

/// Fields by their first byte: one that follows another is in the next level, too.
using Files = std::map<std::byte*, PagedMemory>;

/// The halo of a level: a message for each direction of each field.
class ViewedLevel {
 public:
  ViewedLevel(const Communicator& communicator, const std::vector<ViewedBricks>& bricks,
              Files& files) {
    std::vector<mpi::Swap> swaps;
    comm::together(communicator, [&] {
      for (const ViewedBricks& of : bricks) {
        const FieldStorage& field = *of.storage;
        const auto file =
            files.try_emplace(field.bytes(), field.bytes(), field.allocated_bytes()).first;
        mpi::Swap& swap = swaps.emplace_back(swap_across(of.region, of.field));
        swap.out = see(file->second, of.sent);
        swap.in = see(file->second, of.received);
      }
    });
    swaps_.emplace(communicator, swaps);
  }

  void run() { swaps_->run(); }

 private:
  mpi::Subarray see(const PagedMemory& memory, const std::vector<Run>& ranges) {
    if (ranges.empty()) return {};
    views_.push_back(memory.view(ranges));
    const std::vector<std::int64_t> doubles{bytes_of(ranges) / 8};
    return {.array = views_.back().get(), .sizes = doubles, .starts = {0}, .box = doubles};
  }

  std::vector<std::shared_ptr<std::byte>> views_;
  std::optional<mpi::DerivedTypes> swaps_;
};

class MappedViews final : public HaloMover {
 public:
  explicit MappedViews(solver::Runner& runner) : runner_(runner) {
    for (const solver::Level& level : runner.levels()) {
      const std::vector<ViewedBricks> bricks = viewed_bricks(runner, level);
      if (levels_.empty()) count(*this, runner, bricks);
      levels_.push_back(std::make_unique<ViewedLevel>(runner.communicator(), bricks, files_));
    }
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

std::unique_ptr<HaloMover> move_mapped_views(solver::Runner& runner) {
  if (runner.target().gpu) return move_views_of_gpus(runner);
  return std::make_unique<MappedViews>(runner);
}

std::optional<std::string> why_no_views(const WayPlace& place) {
  if (place.target.gpu) return why_no_views_of_gpus(place);
  return std::nullopt;
}

std::optional<std::string> why_no_views_of_cells(const WayPlace& place) {
  const solver::Case& the_case = place.the_case;
  const Extents& brick = the_case.brick;
  if (brick.axes() == 0) return "rows of different neighbours share pages";
  std::int64_t bytes = the_case.element_bytes();
  for (int axis = 0; axis < brick.axes(); ++axis) bytes *= brick[axis];
  const std::int64_t page = place.target.gpu ? gpu_page_bytes() : page_bytes();
  if (bytes % page != 0)
    return fmt::format("a brick has {} bytes, a page {}; use larger bricks", bytes, page);
  // Else bricks of the halo would not be those that the neighbour has.
  const Grid grid(place.communicator, the_case.grid);
  for (int rank = 0; rank < grid.ranks(); ++rank)
    for (int axis = 0; axis < brick.axes(); ++axis)
      if (const std::int64_t cells = grid.owned(rank).extent()[axis]; cells % brick[axis] != 0)
        return fmt::format("{} cells of rank {} along {} are not whole bricks of {}", cells, rank,
                           "xyz"[axis], brick[axis]);
  return std::nullopt;
}

/// Fields on GPUs need pages that can be mapped apart.
std::shared_ptr<void> make_pages_apart(const solver::Target& target) {
  if (!target.gpu) return nullptr;
  device::share_memory_from(allocate_page_by_page);
  return {nullptr, [](void*) { device::share_memory_from(nullptr); }};
}

}  // namespace

const HaloWay& mapped_views() {
  static constexpr HaloWay way{"mapped_views",
                               "pages of bricks, mapped in a row; MPI or the GPU moves them, "
                               "nothing is packed",
                               std::nullopt,
                               why_no_views_of_cells,
                               why_no_views,
                               move_mapped_views,
                               make_pages_apart};
  return way;
}

}  // namespace halocline::bench
