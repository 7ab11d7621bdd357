// SPDX-License-Identifier: Apache-2.0
// Halos packed by the host, for fields in memory that both host and GPU can access.

#include <vector>

#include "bench/byte_ranges.hpp"
#include "bench/halo_ways.hpp"
#include "comm/collectives.hpp"
#include "device/stream_clock.hpp"
#include "gpu/managed_pages.hpp"
#include "grid/halo_regions.hpp"
#include "link/wait_for.hpp"

namespace halocline::bench {
namespace {

// The driver moves managed memory in blocks of at least 64 KiB.
constexpr std::int64_t block_bytes = std::int64_t{64} << 10;

class PackedByHost : public HaloMover {
 public:
  explicit PackedByHost(solver::Runner& runner) : runner_(runner) {
    messages = runner.exchange_info().messages;
    bytes = runner.exchange_info().bytes;
  }

  void run(std::int64_t level, Stream stream) override {
    send_pages(level, gpu::Side::host, stream);
    link::wait_for(runner_.communicator(), stream);
    runner_.exchange().run(level);
    send_pages(level, gpu::Side::gpu, stream);
  }

 protected:
  virtual void send_pages(std::int64_t, gpu::Side, Stream) {}

  solver::Runner& runner_;
};

class Prefetched final : public PackedByHost {
 public:
  explicit Prefetched(solver::Runner& runner) : PackedByHost(runner) {
    const Grid& grid = runner.exchange_grid();
    const HaloWidths widths = runner.the_case().halo();
    std::vector<Box> touched = grid.boundary(widths);
    for (const grid::HaloRegion& region :
         grid::halo_regions(grid, grid.rank(), widths, Neighbours::all))
      touched.push_back(region.receive);
    pages_ = ranges_of(runner.levels()[0][0], touched, block_bytes);
  }

 private:
  void send_pages(std::int64_t level, gpu::Side side, Stream stream) override {
    const solver::Level& fields = runner_.levels()[static_cast<std::size_t>(level)];
    clock_.time(stream, bytes_of(pages_), [&] {
      for (const std::size_t f : runner_.the_case().exchanged_fields())
        for (const Run& range : pages_)
          gpu::prefetch(fields[f].bytes() + range.offset, range.bytes, side, stream);
    });
  }

  std::vector<Run> pages_;
  device::StreamClock clock_{comm::recorder(runner_.communicator()), Phase::move, "prefetch"};
};

}  // namespace

std::unique_ptr<HaloMover> pack_on_host(solver::Runner& runner) {
  return std::make_unique<PackedByHost>(runner);
}

std::unique_ptr<HaloMover> pack_prefetched(solver::Runner& runner) {
  return std::make_unique<Prefetched>(runner);
}

std::optional<std::string> why_no_prefetch(const WayPlace& place) {
  const std::string why_not =
      comm::first_text(place.communicator, gpu::no_prefetch_because().value_or(""));
  return why_not.empty() ? std::nullopt : std::optional(why_not);
}

}  // namespace halocline::bench
