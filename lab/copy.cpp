// SPDX-License-Identifier: Apache-2.0
#include "lab/copy.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/notes.hpp"
#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "lab/measured.hpp"
#include "link/window.hpp"
#include "proof/pattern.hpp"
#include "solver/memory.hpp"
#include "solver/target.hpp"

namespace halocline::bench {
namespace {

using link::Window;

constexpr std::int64_t most_bytes_of_copy = std::int64_t{1} << 34;

/// Memory of this rank, and memory that it copies to.
struct Ends {
  std::shared_ptr<void> from, to;
  std::unique_ptr<Window> window;  // where the target is another rank's
  std::byte* target = nullptr;
  std::byte* received = nullptr;  // where this rank sees what was copied to it
  int sender = 0;                 // who copies to there
};

class CopyBench {
 public:
  CopyBench(const Communicator& communicator, const CopyBenchOptions& options)
      : communicator_(communicator), options_(options) {}

  CopyBenchResult run();

 private:
  bool has_next_device();
  Ends make_ends(const std::string& from, const std::string& to, std::int64_t bytes) const;
  void time(const std::string& from, const std::string& to, std::int64_t bytes);
  std::optional<std::string> first_wrong(const Ends& ends, std::int64_t bytes) const;

  Communicator communicator_;
  const CopyBenchOptions& options_;
  solver::Target target_;
  Notes notes_;
  CopyBenchResult result_;
};

/// False, and a note why, where ranks cannot copy to each other's GPUs.
bool CopyBench::has_next_device() {
  if (communicator_.size() == 1) return false;
  const auto& map = target_.gpu->map;
  const bool shared = std::any_of(map.begin(), map.end(), [](const machine::GpuBinding::Row& row) {
    return row.ranks_on_gpu > 1;
  });
  if (communicator_.node_count() > 1)
    notes_.add("no copies between GPUs: ranks are on several nodes");
  else if (shared)
    notes_.add("no copies between GPUs: ranks share a GPU");
  return communicator_.node_count() == 1 && !shared;
}

Ends CopyBench::make_ends(const std::string& from, const std::string& to,
                          std::int64_t bytes) const {
  Ends ends;
  const int me = communicator_.rank(), ranks = communicator_.size();
  comm::together(communicator_, [&] { ends.from = device::allocate(*memory_named(from), bytes); });
  if (to != "next device") {
    comm::together(communicator_, [&] { ends.to = device::allocate(*memory_named(to), bytes); });
    ends.target = ends.received = static_cast<std::byte*>(ends.to.get());
    ends.sender = me;
    return ends;
  }
  const int next = (me + 1) % ranks, previous = (me + ranks - 1) % ranks;
  std::vector<int> peers{next};
  if (previous != next) peers.push_back(previous);
  const std::vector<Window::Offsets> offsets(peers.size(), Window::Offsets{});
  ends.window = std::make_unique<Window>(communicator_, bytes, peers, offsets);
  ends.target = ends.window->of(0);
  ends.received = ends.window->mine();
  ends.sender = previous;
  return ends;
}

/// Copies a pattern that names its rank; the wrong byte of the lowest rank that has one, on all.
std::optional<std::string> CopyBench::first_wrong(const Ends& ends, std::int64_t bytes) const {
  const int me = communicator_.rank();
  std::optional<std::string> mine;
  comm::together(communicator_, [&] {
    std::vector<std::byte> pattern(static_cast<std::size_t>(bytes));
    proof::fill(pattern.data(), bytes, proof::seed_of(me, 0, 0));
    device::copy(ends.from.get(), pattern.data(), bytes, Stream::host());
    device::copy(ends.target, ends.from.get(), bytes, target_.stream());
    device::synchronize(target_.stream());
  });
  comm::together(communicator_, [&] {
    std::vector<std::byte> seen(static_cast<std::size_t>(bytes));
    device::copy(seen.data(), ends.received, bytes, Stream::host());
    const std::int64_t at =
        proof::first_difference(seen.data(), bytes, proof::seed_of(ends.sender, 0, 0));
    if (at < bytes)
      mine = fmt::format("byte {} of {} differs from what rank {} copied", at, bytes, ends.sender);
  });
  return first_said(communicator_, mine);
}

void CopyBench::time(const std::string& from, const std::string& to, std::int64_t bytes) {
  // The pattern, and the ends that are not on a GPU.
  const std::int64_t on_host =
      1 + std::int64_t{from != "device"} + std::int64_t{to != "device" && to != "next device"};
  comm::together(communicator_, [&] {
    solver::require_memory(communicator_, {.bytes_per_rank = on_host * bytes,
                                           .what = fmt::format("copies of {} bytes", bytes),
                                           .advice = "copy fewer bytes, or use fewer ranks"});
  });
  const Ends ends = make_ends(from, to, bytes);
  CopyTiming timing{.from = from, .to = to, .bytes = bytes};
  timing.wrong = first_wrong(ends, bytes);
  if (!timing.wrong) {
    const std::int64_t at_once = copies_at_once(bytes);
    const Stream stream = from == "host" && to == "host" ? Stream::host() : target_.stream();
    const timing::TimeSummary together = timing::time_together(communicator_, options_.loop, [&] {
      for (std::int64_t i = 0; i < at_once; ++i)
        device::copy(ends.target, ends.from.get(), bytes, stream);
      device::synchronize(stream);
    });
    timing.time = each_of(together, at_once);
    timing.gigabytes_per_second = static_cast<double>(bytes) / timing.time.median_seconds / 1e9;
  }
  result_.timings.push_back(std::move(timing));
}

CopyBenchResult CopyBench::run() {
  comm::together(communicator_, [&] { check(options_); });
  target_ = solver::choose_target(communicator_, {}, notes_);
  result_.mpi = comm::library_version();
  result_.ranks = communicator_.size();
  result_.nodes = communicator_.node_count();
  result_.devices = devices_of(communicator_, target_);
  std::vector<std::pair<std::string, std::string>> ways{{"host", "host"}};
  if (target_.gpu) {
    ways.insert(ways.end(), {{"pinned", "device"},
                             {"device", "pinned"},
                             {"host", "device"},
                             {"device", "host"},
                             {"device", "device"}});
    if (has_next_device()) ways.emplace_back("device", "next device");
  }
  for (const auto& [from, to] : ways) try {
      for (const std::int64_t bytes : copy_sizes(options_)) time(from, to, bytes);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unavailable && error.kind() != ErrorKind::resource) throw;
      notes_.add(fmt::format("no more copies from {} to {}: {}", from, to, error.what()));
    }
  result_.notes = notes_.all();
  return result_;
}

}  // namespace

std::vector<std::int64_t> copy_sizes(const CopyBenchOptions& options) {
  std::vector<std::int64_t> sizes = options.sizes;
  if (sizes.empty()) sizes = {4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20};
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  for (const std::int64_t bytes : sizes)
    if (bytes < 1 || bytes > most_bytes_of_copy)
      throw Error(ErrorKind::usage,
                  fmt::format("a copy of {} bytes cannot be timed; use 1 to 16Gi", bytes));
  return sizes;
}

std::int64_t copies_at_once(std::int64_t bytes) {
  return std::clamp<std::int64_t>((1 << 20) / bytes, 1, 16);
}

void check(const CopyBenchOptions& options) {
  copy_sizes(options);
  check(options.loop);
}

CopyBenchResult run_copy_bench(const Communicator& communicator, const CopyBenchOptions& options) {
  return CopyBench(communicator, options).run();
}

}  // namespace halocline::bench
