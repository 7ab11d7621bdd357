// SPDX-License-Identifier: Apache-2.0
#include "bench/link.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "grid/halo_regions.hpp"
#include "link/window.hpp"
#include "timing/harness.hpp"

namespace halocline::bench {
namespace {

using link::Window;

constexpr std::int64_t sent_bytes = std::int64_t{64} << 20;
constexpr double seconds_to_spend = 0.05;

std::vector<int> neighbours_of(const Grid& grid, Neighbours neighbours) {
  std::set<int> ranks;
  for (const grid::HaloRegion& region : grid::halo_regions(grid, grid.rank(), 1, neighbours))
    if (region.peer != grid.rank()) ranks.insert(region.peer);
  return {ranks.begin(), ranks.end()};
}

}  // namespace

double link_gigabytes_per_second(const Communicator& communicator, const Grid& grid,
                                 Neighbours neighbours) {
  const std::vector<int> peers = neighbours_of(grid, neighbours);
  const auto count = static_cast<std::int64_t>(peers.size());
  const std::int64_t most = comm::max_over_ranks(communicator, count);
  const std::int64_t each = sent_bytes / most;
  std::vector<Window::Offsets> offsets;  // that each neighbour writes to
  for (std::int64_t p = 0; p < count; ++p) offsets.push_back({p * each, 0, 0});

  std::shared_ptr<void> from;
  std::optional<Window> window;
  comm::together(communicator, [&] { from = device::allocate(Memory::device, each); });
  comm::together(communicator, [&] { window.emplace(communicator, count * each, peers, offsets); });
  const std::vector<device::OwnedStream> streams(peers.size());
  const timing::TimeSummary time =
      timing::time_together(communicator, {.seconds = seconds_to_spend}, [&] {
        for (std::size_t p = 0; p < peers.size(); ++p)
          device::copy(window->of(p) + window->offsets_of(p)[0], from.get(), each,
                       streams[p].get());
        for (const device::OwnedStream& stream : streams) device::synchronize(stream.get());
      });
  return static_cast<double>(each * most) / time.median_seconds / 1e9;
}

}  // namespace halocline::bench
