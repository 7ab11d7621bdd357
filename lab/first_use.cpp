// SPDX-License-Identifier: Apache-2.0
#include "lab/first_use.hpp"

#include <algorithm>
#include <functional>
#include <memory>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/recorder.hpp"
#include "base/text/notes.hpp"
#include "bench/combinations.hpp"
#include "bench/known_fields.hpp"
#include "comm/collectives.hpp"
#include "device/queue.hpp"
#include "lab/measured.hpp"
#include "link/wait_for.hpp"
#include "solver/memory.hpp"
#include "timing/harness.hpp"
#include "transport/transport.hpp"

namespace halocline::bench {
namespace {

constexpr std::int64_t element_bytes = 8;
constexpr std::int64_t most_bytes_of_field = std::int64_t{1} << 30;
constexpr std::int64_t fewest_exchanges = 10, most_exchanges = 100'000;
constexpr double most_of_steady = 1.5;
constexpr std::size_t in_a_row = 3;  // one may be short by chance

/// Seconds that `work` takes the slowest rank, all beginning together. Collective.
double seconds_of(const Communicator& communicator, const std::function<void()>& work) {
  comm::barrier(communicator);
  const auto start = Clock::now();
  work();
  return comm::max_over_ranks(communicator, seconds_since(start));
}

/// Ranks in a row, each with so many bytes for its neighbours.
FirstUseTiming time(const Communicator& communicator, const FirstUseBenchOptions& options,
                    const solver::Target& target, const std::string& transport,
                    std::int64_t bytes) {
  const std::int64_t cells = bytes / element_bytes;
  const Grid grid(communicator,
                  {.cells = {cells * communicator.size()}, .process_grid = {communicator.size()}});
  std::unique_ptr<KnownFields> fields;
  comm::together(communicator, [&] {
    // The owned cells and the halos on both sides; a field on a GPU is filled from the host.
    solver::require_memory(communicator,
                           {.bytes_per_rank = 3 * bytes,
                            .what = fmt::format("fields with {} bytes for each neighbour", bytes),
                            .advice = "use smaller messages or fewer ranks"});
    fields = make_known_fields(
        grid, {.element_bytes = element_bytes, .width = cells, .memory = target.memory});
    fields->fill();
  });
  FirstUseTiming timing{
      .memory = std::string(name_of(target.memory)), .transports = {}, .bytes = bytes};
  std::optional<Exchange> exchange;
  timing.open_seconds = seconds_of(communicator, [&] {
    exchange.emplace(communicator, grid, fields->list(),
                     ExchangeOptions{.neighbours = Neighbours::faces,
                                     .transport = transport,
                                     .proofs = options.proofs,
                                     .same_order = true});
  });
  timing.transports = exchange->info().transports;
  for (std::int64_t i = 0; i < options.exchanges; ++i)
    timing.seconds.push_back(seconds_of(communicator, [&] {
      exchange->run(target.stream());
      link::wait_for(communicator, target.stream());
    }));
  std::optional<std::string> wrong;
  comm::together(communicator, [&] { wrong = fields->first_wrong(Neighbours::faces); });
  timing.wrong = first_said(communicator, wrong);
  find_steady(timing);
  return timing;
}

}  // namespace

std::vector<std::int64_t> first_use_sizes(const FirstUseBenchOptions& options) {
  std::vector<std::int64_t> sizes = options.sizes;
  if (sizes.empty()) sizes = {4 << 10, 4 << 20};
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  for (const std::int64_t bytes : sizes)
    if (bytes < element_bytes || bytes > most_bytes_of_field || bytes % element_bytes != 0)
      throw Error(ErrorKind::usage,
                  fmt::format("{} bytes cannot be exchanged here; use multiples of {} up to 1Gi",
                              bytes, element_bytes));
  return sizes;
}

void find_steady(FirstUseTiming& timing) {
  const std::vector<double>& all = timing.seconds;
  std::vector<double> late(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  std::sort(late.begin(), late.end());
  timing.steady_seconds = timing::percentile(late, 50);
  std::size_t from = 0;
  for (std::size_t steady = 0; from + steady < all.size() && steady < in_a_row;) {
    if (all[from + steady] <= most_of_steady * timing.steady_seconds) {
      ++steady;
    } else {
      from += steady + 1;
      steady = 0;
    }
  }
  timing.steady_from = static_cast<std::int64_t>(from);
  timing.extra_seconds = 0;
  for (std::size_t i = 0; i < from; ++i)
    timing.extra_seconds += std::max(0.0, all[i] - timing.steady_seconds);
}

void check(const FirstUseBenchOptions& options, int ranks) {
  if (ranks < 2)
    throw Error(ErrorKind::usage,
                "one rank has no neighbour to exchange with; use more (--ranks 2)");
  first_use_sizes(options);
  if (options.exchanges < fewest_exchanges || options.exchanges > most_exchanges)
    throw Error(ErrorKind::usage,
                fmt::format("{} exchanges do not show a steady time; use {} to {}",
                            options.exchanges, fewest_exchanges, most_exchanges));
  for (const std::string& transport : options.transports)
    if (transport != "auto") transport::find_transport(transport);
  check_memories(options.memories);
}

FirstUseBenchResult run_first_use_bench(const Communicator& communicator,
                                        const FirstUseBenchOptions& options) {
  comm::together(communicator, [&] { check(options, communicator.size()); });
  FirstUseBenchResult result{.mpi = comm::library_version(),
                             .ranks = communicator.size(),
                             .nodes = communicator.node_count()};
  Notes notes;
  std::vector<Combination> combinations;
  result.place_seconds = seconds_of(communicator, [&] {
    combinations = find_ways(
        communicator,
        {.memories = options.memories, .transports = options.transports, .proofs = options.proofs},
        notes);
  });
  timing::note_crowding(communicator, notes);
  for (const Combination& combination : combinations) {
    if (result.devices.empty() || combination.target.gpu)
      result.devices = devices_of(communicator, combination.target);
    for (const std::string& transport : combination.transports)
      for (const std::int64_t bytes : first_use_sizes(options))
        result.timings.push_back(time(communicator, options, combination.target, transport, bytes));
  }
  result.notes = notes.all();
  return result;
}

}  // namespace halocline::bench
