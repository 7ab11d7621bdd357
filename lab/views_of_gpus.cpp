// SPDX-License-Identifier: Apache-2.0
// Views of GPU memory: each rank maps the pages of its neighbours' halos, in the order in which it
// sees its own bricks, and copies a message as a whole.

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/recorder.hpp"
#include "bench/byte_ranges.hpp"
#include "comm/collectives.hpp"
#include "device/queue.hpp"
#include "lab/gpu_pages.hpp"
#include "lab/viewed_bricks.hpp"
#include "link/wait_for.hpp"
#include "transport/transport.hpp"

namespace halocline::bench {
namespace {

constexpr int directions = 27;

/// Halo bricks that a rank offers: whose halo, from which direction, of which field.
using Place = std::tuple<int, int, int>;

/// A page of them.
struct OfferedPage {
  int rank, direction, field;
  device::DescriptorName name;
};
using Offered = std::map<Place, std::vector<device::DescriptorName>>;

std::vector<PageRange> pages_of(const std::vector<Run>& ranges) {
  const std::int64_t page = gpu_page_bytes();
  std::vector<PageRange> pages;
  for (const Run& range : ranges) pages.push_back({range.offset / page, range.bytes / page});
  return pages;
}

/// Returns, on every rank, what all offer, in order.
Offered gather(const Communicator& communicator, const std::vector<OfferedPage>& mine) {
  std::string bytes;
  for (const OfferedPage& page : mine)
    bytes.append(reinterpret_cast<const char*>(&page), sizeof page);
  std::string all;
  for (const std::string& some : comm::gather_texts(communicator, bytes)) all += some;
  all = comm::broadcast(communicator, all, 0);
  Offered offered;
  for (std::size_t at = 0; at < all.size(); at += sizeof(OfferedPage)) {
    OfferedPage page{};
    std::memcpy(&page, all.data() + at, sizeof page);
    offered[{page.rank, page.direction, page.field}].push_back(page.name);
  }
  return offered;
}

/// A message: bricks of this rank, and where they go.
struct Copy {
  std::shared_ptr<void> from, to;
  std::int64_t bytes;
};

/// The halo of a level. Collective.
std::vector<Copy> copies_of(const solver::Runner& runner, const std::vector<ViewedBricks>& bricks) {
  const Communicator& communicator = runner.communicator();
  const int me = runner.exchange_grid().rank();
  const auto number = [](const ViewedBricks& of) {
    return grid::direction_index(of.region.direction);
  };
  // Open files: of a level after the other, there may be more than a process can have.
  std::vector<std::vector<std::unique_ptr<device::OfferedDescriptor>>> offers;
  std::vector<OfferedPage> mine;
  std::map<Place, const std::vector<Run>*> own;
  comm::together(communicator, [&] {
    for (const ViewedBricks& of : bricks) {
      if (of.received.empty()) continue;
      if (of.region.peer == me) {
        own[{me, number(of), of.field}] = &of.received;
        continue;
      }
      offers.push_back(offer_pages(of.storage->bytes(), pages_of(of.received)));
      for (const auto& page : offers.back())
        mine.push_back({me, number(of), of.field, page->name()});
    }
  });
  const Offered offered = gather(communicator, mine);
  std::vector<Copy> copies;
  comm::together(communicator, [&] {
    for (const ViewedBricks& of : bricks) {
      if (of.sent.empty()) continue;
      const Place there{of.region.peer, directions - 1 - number(of), of.field};
      const std::byte* const field = of.storage->bytes();
      copies.push_back({.from = view_of(field, pages_of(of.sent)),
                        .to = of.region.peer == me
                                  ? view_of(field, pages_of(*own.at(there)))
                                  : map_pages(offered.at(there), communicator.options().wait_limit),
                        .bytes = bytes_of(of.sent)});
    }
  });
  comm::barrier(communicator);
  return copies;
}

class ViewsOfGpus final : public HaloMover {
 public:
  explicit ViewsOfGpus(solver::Runner& runner) : runner_(runner) {
    for (const solver::Level& level : runner.levels()) {
      const std::vector<ViewedBricks> bricks = viewed_bricks(runner, level);
      if (levels_.empty()) count(*this, runner, bricks);
      levels_.push_back(copies_of(runner, bricks));
    }
  }
  /// Nobody frees pages that others may still write.
  ~ViewsOfGpus() override {
    levels_.clear();
    try {
      comm::barrier(runner_.communicator());
    } catch (const Error&) {
      // Another rank is gone.
    }
  }

  /// All of it is a wait: the host waits for the GPU's sweeps and for its copies, and then for the
  /// other ranks.
  void run(std::int64_t level, Stream stream) override {
    const Communicator& communicator = runner_.communicator();
    link::wait_for(communicator, stream);
    const Span span(comm::recorder(communicator), Phase::wait, "mapped views", bytes);
    comm::barrier(communicator);
    for (const Copy& copy : levels_[static_cast<std::size_t>(level)])
      device::copy(copy.to.get(), copy.from.get(), copy.bytes, stream);
    link::wait_for(communicator, stream);
    comm::barrier(communicator);
  }

 private:
  solver::Runner& runner_;
  std::vector<std::vector<Copy>> levels_;
};

}  // namespace

std::unique_ptr<HaloMover> move_views_of_gpus(solver::Runner& runner) {
  return std::make_unique<ViewsOfGpus>(runner);
}

std::optional<std::string> why_no_views_of_gpus(const WayPlace& place) {
  if (place.communicator.node_count() > 1) return "GPUs cannot map the memory of other nodes'";
  if (auto why =
          transport::find_transport("peer").unavailable(transport::Pair::same_node, Memory::device))
    return why;
  std::string why;
  try {
    gpu_page_bytes();
  } catch (const Error& error) {
    why = error.what();
  }
  why = comm::first_text(place.communicator, why);
  if (!why.empty()) return why;
  return std::nullopt;
}

}  // namespace halocline::bench
