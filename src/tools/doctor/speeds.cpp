// SPDX-License-Identifier: Apache-2.0
#include "doctor/speeds.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "base/recorder.hpp"
#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "mpi/mpi_messages.hpp"
#include "probe/ring.hpp"

namespace halocline::doctor {
namespace {

/// Larger than the caches of a core.
constexpr std::int64_t copied_bytes = std::int64_t{64} << 20;
constexpr int most_tries = 7;

template <class Work>
double best_seconds(int tries, const Work& work) {
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < tries; ++i) {
    const auto begun = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begun).count());
  }
  return best;
}

double gb_per_s(std::int64_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds / 1e9;
}

/// Returns half of the best round-trip time.
double seconds_between(const Communicator& communicator, int peer, std::int64_t bytes, int tries) {
  std::vector<std::byte> message(static_cast<std::size_t>(bytes));
  const bool begins = communicator.rank() < peer;
  return best_seconds(tries,
                      [&] {
                        if (begins) mpi::mpi_send(communicator, peer, message);
                        mpi::mpi_receive(communicator, peer, message);
                        if (!begins) mpi::mpi_send(communicator, peer, message);
                      }) /
         2;
}

/// Returns the lower rank's number on both ranks.
double agreed(const Communicator& communicator, int peer, double mine) {
  std::vector<std::byte> message(sizeof mine);
  std::memcpy(message.data(), &mine, sizeof mine);
  if (communicator.rank() < peer)
    mpi::mpi_send(communicator, peer, message);
  else
    mpi::mpi_receive(communicator, peer, message);
  std::memcpy(&mine, message.data(), sizeof mine);
  return mine;
}

Link time_link(const Communicator& communicator, int peer) {
  constexpr std::int64_t small = 8, medium = 64 << 10, large = 1 << 20;
  // At 8 Mbit/s 1 MiB takes a second each way; 64 KiB show the rate just as well.
  constexpr double long_seconds = 1.0 * medium / large;
  Link link;
  link.us = 1e6 * seconds_between(communicator, peer, small, 50);
  const double seconds = agreed(communicator, peer, seconds_between(communicator, peer, medium, 2));
  link.gb_per_s = seconds > long_seconds
                      ? gb_per_s(medium, seconds)
                      : gb_per_s(large, seconds_between(communicator, peer, large, 4));
  return link;
}

}  // namespace

double time_host_copy(int threads) {
  using Bytes = std::vector<std::byte>;
  struct Copied {
    Bytes from, to;
  };
  std::vector<Copied> of_threads(static_cast<std::size_t>(threads));
  const auto by_each = [&](const auto& work) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int thread = 0; thread < threads; ++thread)
      work(of_threads[static_cast<std::size_t>(thread)]);
  };
  // First touch by each thread places the pages near it.
  by_each([](Copied& mine) {
    mine = {Bytes(static_cast<std::size_t>(copied_bytes), std::byte{1}),
            Bytes(static_cast<std::size_t>(copied_bytes))};
  });
  const double seconds = best_seconds(most_tries, [&] {
    by_each([](Copied& mine) { std::memcpy(mine.to.data(), mine.from.data(), mine.to.size()); });
  });
  return 2 * gb_per_s(copied_bytes * threads, seconds);
}

void time_node(NodeSeen& node) {
  constexpr int additions = 1'000'000;
  node.memory_gb_per_s = time_host_copy(1);
  volatile double step = 1;
  volatile double sum = 0;
  node.count_us = 1e6 * best_seconds(most_tries, [&] {
                    double value = 0;
                    const double each = step;
                    for (int i = 0; i < additions; ++i) value += each;
                    sum = value;
                  });
}

GpuSpeed time_gpu(int ordinal) {
  const device::Gpu& gpu = device::gpus().list.at(static_cast<std::size_t>(ordinal));
  device::use(gpu);
  // Large enough to hide launch times, small compared to memory that may be in use.
  const std::int64_t within = std::min(std::int64_t{512} << 20, gpu.memory_bytes / 64);
  const std::int64_t across = within / 8;
  const auto from = device::allocate(Memory::device, within);
  const auto to = device::allocate(Memory::device, within);
  const auto pinned = device::allocate(Memory::pinned, across);
  const auto copy = [&](const void* source, std::int64_t bytes) {
    return [&, source, bytes] { device::copy(to.get(), source, bytes, Stream::host()); };
  };
  copy(from.get(), within)();  // the first copy wakes the GPU
  copy(pinned.get(), across)();
  return {.ordinal = gpu.ordinal,
          .name = gpu.name,
          .copy_gb_per_s = 2 * gb_per_s(within, best_seconds(5, copy(from.get(), within))),
          .host_gb_per_s = gb_per_s(across, best_seconds(5, copy(pinned.get(), across)))};
}

void time_links(const Communicator& communicator, const std::function<void(const Link&)>& report) {
  // With seven pairs each, a slow node differs from one with a slow partner.
  constexpr int most_rounds = 7;
  const std::vector<int> firsts = probe::first_ranks(probe::nodes_of_ranks(communicator));
  for (const auto& round : probe::rounds_of_pairs(communicator.node_count(), most_rounds)) {
    for (const auto& [a, b] : round) {
      const int first = firsts[static_cast<std::size_t>(a)];
      const int second = firsts[static_cast<std::size_t>(b)];
      if (communicator.rank() == second) time_link(communicator, first);
      if (communicator.rank() != first) continue;
      Link link = time_link(communicator, second);
      link.from = a;
      link.to = b;
      report(link);
    }
    comm::barrier(communicator);
  }
}

}  // namespace halocline::doctor
