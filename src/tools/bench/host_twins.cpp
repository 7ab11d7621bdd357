// SPDX-License-Identifier: Apache-2.0
// Halos of GPU fields by copies of the fields on the host: of all cells, or of exchanged cells
// only.

#include <optional>
#include <utility>
#include <vector>

#include <halocline/exchange.hpp>

#include "bench/byte_ranges.hpp"
#include "bench/halo_ways.hpp"
#include "comm/collectives.hpp"
#include "device/queue.hpp"
#include "device/stream_clock.hpp"
#include "grid/halo_regions.hpp"
#include "link/wait_for.hpp"
#include "solver/engine/levels.hpp"

namespace halocline::bench {
namespace {

/// Bytes copied to the host before an exchange, and back after it.
struct Moved {
  std::vector<Run> out, in;
};

Moved whole_array(const FieldStorage& field) {
  const std::vector<Run> all = rows_of({{0, field.allocated_bytes(), 1, 0}});
  return {all, all};
}

/// Returns the bytes of a brick, as bricks move whole. A brick with halo cells may contain owned
/// cells; they belong to the skin, so they are copied to the host first and come back unchanged.
std::int64_t grain_of(const FieldStorage& field) {
  const std::optional<Bricks>& bricks = field.as_bricks();
  return bricks ? bricks->brick_step.x * field.shape().element_bytes : 1;
}

Moved skin_and_halo(const solver::Runner& runner) {
  const FieldStorage& field = runner.levels()[0][0];  // all have its shape and layout
  const Grid& grid = runner.exchange_grid();
  const solver::Case& the_case = runner.the_case();
  const HaloWidths widths = the_case.halo();
  std::vector<Box> halo;
  for (const grid::HaloRegion& region :
       grid::halo_regions(grid, grid.rank(), widths, the_case.neighbours()))
    halo.push_back(region.receive);
  return {.out = rows_of(ranges_of(field, grid.boundary(widths), grain_of(field))),
          .in = rows_of(ranges_of(field, halo, grain_of(field)))};
}

void copy_rows(const FieldStorage& to, const FieldStorage& from, const std::vector<Run>& rows,
               Stream stream) {
  for (const Run& row : rows) {
    std::byte* const target = to.bytes() + row.offset;
    const std::byte* const source = from.bytes() + row.offset;
    // CUDA limits the length of rows, but not of plain copies.
    if (row.count == 1)
      device::copy(target, source, row.bytes, stream);
    else
      device::copy_rows(target, source,
                        {.bytes = row.bytes,
                         .count = row.count,
                         .to_stride = row.stride,
                         .from_stride = row.stride},
                        stream);
  }
}

class HostTwins final : public HaloMover {
 public:
  HostTwins(solver::Runner& runner, Moved moved)
      : runner_(runner), moved_(std::move(moved)), indices_(runner.the_case().exchanged_fields()) {
    comm::together(runner.communicator(), [&] { make_twins(); });
    exchange_.emplace(
        runner.communicator(), runner.exchange_grid(), FieldList(twins_.begin(), twins_.end()),
        ExchangeOptions{
            .neighbours = runner.the_case().neighbours(), .transport = "mpi", .same_order = true});
    messages = exchange_->info().messages;
    bytes = exchange_->info().bytes;
  }

  void run(std::int64_t level, Stream stream) override {
    const auto copy = [&](Way way, const std::vector<Run>& rows) {
      clock_.time(stream, bytes_of(rows) * static_cast<std::int64_t>(twins_.size()),
                  [&] { copy_all(level, way, rows, stream); });
    };
    copy(Way::out, moved_.out);
    link::wait_for(runner_.communicator(), stream);
    exchange_->run();
    copy(Way::in, moved_.in);
  }

 private:
  enum class Way { out, in };

  /// Copies whole fields first, for constant ghosts that share a brick with the halo.
  void make_twins() {
    const solver::Case& the_case = runner_.the_case();
    for (const std::size_t f : indices_)
      twins_.push_back(make_field(the_case, runner_.grid(), the_case.halo_depth, Memory::pinned,
                                  the_case.model->fields[f].name));
    const Stream stream = runner_.target().stream();
    copy_all(0, Way::out, whole_array(twins_[0]).out, stream);
    device::synchronize(stream);
  }

  void copy_all(std::int64_t level, Way way, const std::vector<Run>& rows, Stream stream) {
    const solver::Level& fields = runner_.levels()[static_cast<std::size_t>(level)];
    for (std::size_t i = 0; i < twins_.size(); ++i) {
      const FieldStorage& field = fields[indices_[i]];
      copy_rows(way == Way::out ? twins_[i] : field, way == Way::out ? field : twins_[i], rows,
                stream);
    }
  }

  solver::Runner& runner_;
  Moved moved_;                       // of each field
  std::vector<std::size_t> indices_;  // of the fields that move
  std::vector<FieldStorage> twins_;   // for one level at a time
  std::optional<Exchange> exchange_;
  device::StreamClock clock_{comm::recorder(runner_.communicator()), Phase::move, "copy"};
};

}  // namespace

std::unique_ptr<HaloMover> move_whole_array(solver::Runner& runner) {
  return std::make_unique<HostTwins>(runner, whole_array(runner.levels()[0][0]));
}

std::unique_ptr<HaloMover> move_skin(solver::Runner& runner) {
  return std::make_unique<HostTwins>(runner, skin_and_halo(runner));
}

}  // namespace halocline::bench
