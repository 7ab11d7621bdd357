// SPDX-License-Identifier: Apache-2.0
#include "lab/mesh.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/notes.hpp"
#include "comm/collectives.hpp"
#include "grid/text.hpp"
#include "lab/measured.hpp"
#include "lab/mesh_exchange.hpp"
#include "solver/memory.hpp"
#include "text/refuse.hpp"

namespace halocline::bench {
namespace {

using Way = MeshMessage::Way;

constexpr std::int64_t most_bytes_of_count = 2147483647;  // an MPI count
constexpr int exchanges_to_look_at = 9;                   // of which a typical one is shown

Extents square_grid(int ranks) {
  int columns = 1;
  for (int x = 1; x * x <= ranks; ++x)
    if (ranks % x == 0) columns = x;
  return {columns, ranks / columns};
}

MeshNeighbours neighbours_of(const Grid& grid) {
  constexpr Direction sides[] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}};
  MeshNeighbours neighbours{};
  for (std::size_t side = 0; side < neighbours.size(); ++side)
    neighbours[side] = grid.neighbour(grid.rank(), sides[side]);
  return neighbours;
}

double seconds_of(Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

double least_over_ranks(const Communicator& communicator, double value) {
  return -comm::max_over_ranks(communicator, -value);
}

/// Since when a rank's seconds count: clocks of one node are the same.
double origin_of(const Communicator& communicator, const MeshTimes& times) {
  const double begin = seconds_of(times.begin);
  return communicator.node_count() > 1 ? begin : least_over_ranks(communicator, begin);
}

/// Puts the times of all ranks together on rank 0.
MeshTimeline gather(const Communicator& communicator, const MeshTimes& times) {
  const double origin = origin_of(communicator, times);
  std::vector<MeshMessage> mine;
  for (const MeshTimes::Message& message : times.messages) {
    const auto call = message.step.call;
    const bool sent = call == MeshStep::Call::send || call == MeshStep::Call::isend;
    mine.push_back({sent ? Way::sent : Way::received, communicator.rank(), message.step.peer,
                    message.step.lane, seconds_of(message.start) - origin,
                    seconds_of(message.end) - origin});
  }
  MeshTimeline timeline;
  timeline.end_seconds = comm::gather_all(communicator, seconds_of(times.end) - origin);
  const std::vector<double> counts =
      comm::gather_all(communicator, static_cast<double>(mine.size()));
  if (communicator.rank() != 0) {
    comm::send(communicator, 0, std::as_bytes(std::span(mine)));
    return timeline;
  }
  timeline.messages = mine;
  for (int rank = 1; rank < communicator.size(); ++rank) {
    std::vector<MeshMessage> theirs(
        static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]));
    comm::receive(communicator, rank, std::as_writable_bytes(std::span(theirs)));
    timeline.messages.insert(timeline.messages.end(), theirs.begin(), theirs.end());
  }
  return timeline;
}

/// Leaves out what ranks did once the first of them had left a deadlock, `found` after the
/// beginning.
void cut(MeshTimeline& timeline, double found) {
  std::erase_if(timeline.messages,
                [&](const MeshMessage& message) { return message.start_seconds > found; });
  for (MeshMessage& message : timeline.messages)
    message.end_seconds = std::min(message.end_seconds, found);
  for (double& end : timeline.end_seconds) end = std::min(end, found);
}

class MeshBench {
 public:
  MeshBench(const Communicator& communicator, const MeshBenchOptions& options)
      : communicator_(communicator), options_(options) {}

  MeshBenchResult run();

 private:
  MeshTiming time(MeshExchange& exchange, MeshOrder order);
  MeshDeadlock deadlock_of(const MeshExchange::Stuck& stuck);
  MeshTimeline timeline_of(const MeshExchange& exchange, const MeshExchange::Stuck& stuck);
  MeshTimeline typical_exchange(MeshExchange& exchange, const std::vector<MeshStep>& steps,
                                double seconds);

  Communicator communicator_;
  const MeshBenchOptions& options_;
  MeshNeighbours neighbours_{};
};

/// Of some, the one that took most nearly `seconds`.
MeshTimeline MeshBench::typical_exchange(MeshExchange& exchange, const std::vector<MeshStep>& steps,
                                         double seconds) {
  MeshTimes typical;
  double least_off = std::numeric_limits<double>::infinity();
  for (int i = 0; i < exchanges_to_look_at; ++i) {
    comm::barrier(communicator_);
    exchange.run(steps);
    const std::chrono::duration<double> mine = exchange.times().end - exchange.times().begin;
    const double off = std::fabs(comm::max_over_ranks(communicator_, mine.count()) - seconds);
    if (off >= least_off) continue;
    least_off = off;
    typical = exchange.times();
  }
  return gather(communicator_, typical);
}

MeshDeadlock MeshBench::deadlock_of(const MeshExchange::Stuck& stuck) {
  const auto waiting =
      std::count_if(stuck.states.begin(), stuck.states.end(),
                    [](const auto& state) { return state.does != WaitState::Does::nothing_more; });
  return {stuck.circle, static_cast<int>(waiting) - static_cast<int>(stuck.circle.size()),
          cycle_text(stuck.circle, stuck.states)};
}

MeshTimeline MeshBench::timeline_of(const MeshExchange& exchange,
                                    const MeshExchange::Stuck& stuck) {
  MeshTimeline timeline = gather(communicator_, exchange.times());
  const double origin = origin_of(communicator_, exchange.times());
  cut(timeline, least_over_ranks(communicator_, seconds_of(stuck.found) - origin));
  return timeline;
}

MeshTiming MeshBench::time(MeshExchange& exchange, MeshOrder order) {
  MeshTiming timing{.order = order};
  const std::vector<MeshStep> steps = mesh_steps(order, neighbours_);
  int round = 0;
  exchange.fill(round);
  comm::barrier(communicator_);
  if (const auto stuck = exchange.try_out(steps)) {
    timing.deadlock = deadlock_of(*stuck);
    timing.timeline = timeline_of(exchange, *stuck);
    return timing;
  }
  timing.wrong = first_said(communicator_, exchange.first_wrong(round));
  if (timing.wrong) return timing;
  timing.time = timing::time_together(communicator_, options_.loop, [&] { exchange.run(steps); });
  exchange.fill(++round);
  timing.timeline = typical_exchange(exchange, steps, timing.time.median_seconds);
  timing.wrong = first_said(communicator_, exchange.first_wrong(round));
  return timing;
}

MeshBenchResult MeshBench::run() {
  MeshBenchResult result{.mpi = comm::library_version(),
                         .ranks = communicator_.size(),
                         .nodes = communicator_.node_count(),
                         .periodic = options_.periodic};
  comm::together(communicator_, [&] {
    check(options_, communicator_.size());
    result.process_grid = mesh_process_grid(options_, communicator_.size());
    const Grid grid(communicator_, {.cells = result.process_grid,
                                    .periodic = options_.periodic,
                                    .process_grid = result.process_grid});
    neighbours_ = neighbours_of(grid);
  });
  result.messages = comm::max_over_ranks(
      communicator_, static_cast<std::int64_t>(std::count_if(neighbours_.begin(), neighbours_.end(),
                                                             [](int n) { return n >= 0; })));
  Notes notes;
  timing::note_crowding(communicator_, notes);
  for (const std::int64_t bytes : options_.sizes) {
    comm::together(communicator_, [&] {
      solver::require_memory(communicator_, {.bytes_per_rank = MeshExchange::memory_bytes(bytes),
                                             .what = fmt::format("messages of {} bytes", bytes),
                                             .advice = "use smaller messages or fewer ranks"});
    });
    MeshExchange exchange(communicator_, neighbours_, bytes);
    for (const MeshOrder order : options_.orders) {
      result.timings.push_back(time(exchange, order));
      result.timings.back().bytes = bytes;
    }
  }
  result.notes = notes.all();
  return result;
}

}  // namespace

Extents mesh_process_grid(const MeshBenchOptions& options, int ranks) {
  const Extents& grid = options.process_grid;
  if (grid.axes() == 0) return square_grid(ranks);
  if (grid.axes() != 2)
    refuse(fmt::format("the process grid {} has {} axes, but a mesh has 2; use {}",
                       grid::text_of(grid), grid.axes(), grid::text_of(square_grid(ranks))));
  if (grid[0] * grid[1] != ranks)
    refuse(fmt::format("the process grid {} is for {} ranks, but there are {}; use {}",
                       grid::text_of(grid), grid[0] * grid[1], ranks,
                       grid::text_of(square_grid(ranks))));
  return grid;
}

void check(const MeshBenchOptions& options, int ranks) {
  check(options.loop);
  mesh_process_grid(options, ranks);
  if (options.periodic[2]) refuse("a mesh has no axis z; use --periodic x, y or xy");
  if (ranks == 1 && !options.periodic[0] && !options.periodic[1])
    refuse(
        "one rank has no neighbour to exchange with; use more (--ranks 4), or wrap an axis "
        "around (--periodic x)");
  for (const std::int64_t bytes : options.sizes)
    if (bytes < 1 || bytes > most_bytes_of_count)
      refuse(fmt::format("a message of {} bytes cannot be sent in one call; use 1 to {}", bytes,
                         most_bytes_of_count));
}

MeshBenchResult run_mesh_bench(const Communicator& communicator, const MeshBenchOptions& options) {
  return MeshBench(communicator, options).run();
}

}  // namespace halocline::bench
