// SPDX-License-Identifier: Apache-2.0
#include "bench/p2p_bench.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/process/host_name.hpp"
#include "base/text/format.hpp"
#include "base/text/notes.hpp"
#include "bench/combinations.hpp"
#include "bench/pair_path.hpp"
#include "comm/collectives.hpp"
#include "solver/memory.hpp"
#include "solver/option_words.hpp"
#include "solver/target.hpp"
#include "transport/transport.hpp"

namespace halocline::bench {
namespace {

using proof::GpuPair;

// Small messages are timed several at once, to hide the time to read the clock and to wait for a
// GPU.
constexpr std::int64_t most_bytes_of_several = 8 << 10;
constexpr std::int64_t trips_of_short_ones = 10;

/// Times measured by two ranks, broadcast to the others.
struct Times {
  timing::TimeSummary latency, one_way, both_ways;
};

/// One memory and its proofs.
struct MemoryTarget {
  solver::Target target;
  exchange::ProvedTransports proved;
};

void scale(timing::TimeSummary& time, double factor) {
  for (double* seconds : {&time.min_seconds, &time.median_seconds, &time.p99_seconds})
    *seconds *= factor;
}

/// Wraps work so that its spans are recorded, if requested.
using RecordSpans = std::function<std::function<void()>(P2pWork what, std::int64_t messages,
                                                        std::function<void()> work)>;

Times time_path(const Communicator& pair, PairPath& path, std::int64_t bytes,
                const P2pBenchOptions& options, const RecordSpans& record) {
  timing::LoopOptions loop = options.loop;
  loop.whose = timing::LoopOptions::Whose::first;
  const std::int64_t trips = bytes <= most_bytes_of_several ? trips_of_short_ones : 1;
  Times times;
  times.latency = timing::time_together(
      pair, loop, record(P2pWork::round_trips, 2 * trips, [&] { path.round_trips(trips); }));
  scale(times.latency, 0.5 / static_cast<double>(trips));
  // Fewer repetitions, since a window consists of many messages.
  loop.fewest = 5;
  loop.warm_up = 1;
  times.one_way = timing::time_together(
      pair, loop, record(P2pWork::one_way, options.window, [&] { path.one_way(options.window); }));
  times.both_ways = timing::time_together(
      pair, loop,
      record(P2pWork::both_ways, 2 * options.window, [&] { path.both_ways(options.window); }));
  return times;
}

class P2pBench {
 public:
  P2pBench(const Communicator& communicator, const P2pBenchOptions& options)
      : communicator_(communicator), options_(options) {}

  P2pBenchResult run() {
    comm::together(communicator_, [&] { check(options_, communicator_.size()); });
    result_.mpi = comm::library_version();
    result_.ranks = communicator_.size();
    result_.nodes = communicator_.node_count();
    result_.window = options_.window;
    result_.hosts = comm::gather_texts(communicator_, host_name());
    choose_memories();
    result_.are_crowded = timing::note_crowding(communicator_, notes_);
    if (options_.keeps_spans) spans_.emplace(communicator_);
    for (const RankPair& ranks : p2p_pairs(options_, communicator_.size())) time_pair(ranks);
    if (spans_) result_.spans = spans_->gather();
    result_.notes = notes_.all();
    if (result_.timings.empty())
      throw Error(ErrorKind::unavailable,
                  fmt::format("nothing can be timed: {}",
                              result_.notes.empty() ? "" : result_.notes.back()));
    return result_;
  }

 private:
  void choose_memories() {
    const std::vector<transport::Pair> pairs = pairs_between_ranks(communicator_);
    for (const std::string& name : options_.memories) {
      SolveOptions where;
      where.memory = solver::read_memory(name);
      solver::Target target = solver::choose_target(communicator_, where, notes_);
      if (result_.devices.empty() || target.gpu)
        result_.devices = devices_of(communicator_, target);
      exchange::ProvedTransports proved =
          proofs_for(communicator_, pairs, target.memory, options_.proofs);
      memories_.push_back({std::move(target), std::move(proved)});
    }
  }

  GpuPair kind_of(const RankPair& ranks, const solver::Target& target) const {
    if (communicator_.node_of(ranks.first) != communicator_.node_of(ranks.second))
      return GpuPair::other_node;
    const auto gpu = [&](int rank) { return target.gpu->map[static_cast<std::size_t>(rank)].uuid; };
    return target.gpu && gpu(ranks.first) == gpu(ranks.second) ? GpuPair::same_gpu
                                                               : GpuPair::same_node;
  }

  /// Returns the requested transports, or all, that serve such ranks.
  std::vector<std::string> transports_for(const RankPair& ranks, const MemoryTarget& memory) {
    const transport::Pair pair =
        communicator_.node_of(ranks.first) == communicator_.node_of(ranks.second)
            ? transport::Pair::same_node
            : transport::Pair::other_node;
    std::vector<std::string> names;
    for (const transport::Transport* transport : transport::transports()) {
      const std::string name(transport->name());
      const auto& wanted = options_.transports;
      if (name == "self") continue;
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end())
        continue;
      const Memory fields = memory.target.memory;
      const auto why_not = why_not_timed(*transport, pair, fields, memory.proved);
      if (!why_not) {
        names.push_back(name);
        continue;
      }
      // No note about transports that do not serve this memory, unless they were requested.
      if (!wanted.empty() || !transport->unavailable(pair, fields))
        notes_.add(
            fmt::format("transport {} is not timed with {} memory{}: {}", name, name_of(fields),
                        pair == transport::Pair::other_node ? " between nodes" : "", *why_not));
    }
    return names;
  }

  /// Broadcasts results from the first rank of a pair to all ranks.
  void broadcast_times(P2pTiming& timing, Times& times, std::string wrong, Notes& notes) {
    const int root = timing.ranks.first;
    std::string bytes(sizeof times, '\0');
    std::memcpy(bytes.data(), &times, sizeof times);
    bytes = comm::broadcast(communicator_, bytes, root);
    std::memcpy(&times, bytes.data(), sizeof times);
    wrong = comm::broadcast(communicator_, std::move(wrong), root);
    if (!wrong.empty()) timing.wrong = wrong;
    timing.latency = times.latency;
    timing.one_way = times.one_way;
    timing.both_ways = times.both_ways;
    std::string lines;
    for (const std::string& note : notes.all()) lines += note + '\n';
    lines = comm::broadcast(communicator_, lines, root);
    for (std::size_t at = 0, end; (end = lines.find('\n', at)) != std::string::npos; at = end + 1)
      notes_.add(lines.substr(at, end - at));
  }

  /// Adds a timing. Returns false, with a note, if such messages cannot be sent here.
  bool time(P2pTiming timing, const std::optional<Communicator>& pair,
            const solver::Target& target) {
    Times times{};
    std::string wrong;
    Notes notes;
    const auto work = [&] {
      // Sent and received messages, and a copy for the check.
      comm::together(*pair, [&] {
        solver::require_memory(*pair, {.bytes_per_rank = 3 * timing.bytes,
                                       .what = fmt::format("messages of {} bytes", timing.bytes),
                                       .advice = "use smaller messages"});
      });
      const auto path = make_pair_path(communicator_, *pair,
                                       {.transport = timing.transport,
                                        .memory = target.memory,
                                        .stream = target.stream(),
                                        .bytes = timing.bytes,
                                        .ranks = {timing.ranks.first, timing.ranks.second}},
                                       notes);
      wrong = comm::first_text(*pair, path->first_wrong(0).value_or(""));
      if (!wrong.empty()) return;
      const RecordSpans record = [&](P2pWork what, std::int64_t messages,
                                     std::function<void()> repeated) {
        if (!spans_) return repeated;
        return spans_->keep({.rank = communicator_.rank(),
                             .timing = result_.timings.size(),
                             .work = what,
                             .messages = messages},
                            std::move(repeated));
      };
      times = time_path(*pair, *path, timing.bytes, options_, record);
      wrong = comm::first_text(*pair, path->first_wrong(1).value_or(""));
    };
    try {
      comm::on_two_ranks(communicator_, timing.ranks.first, timing.ranks.second, work);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unavailable && error.kind() != ErrorKind::device &&
          error.kind() != ErrorKind::resource)
        throw;
      notes_.add(fmt::format("ranks {}-{}, {} by {} with {} memory are not timed: {}",
                             timing.ranks.first, timing.ranks.second, bytes_text(timing.bytes),
                             timing.transport, timing.memory, error.what()));
      if (spans_) spans_->forget(result_.timings.size());
      return false;
    }
    broadcast_times(timing, times, std::move(wrong), notes);
    result_.timings.push_back(std::move(timing));
    return true;
  }

  void time_pair(const RankPair& ranks) {
    const std::optional<Communicator> pair =
        comm::two_ranks(communicator_, ranks.first, ranks.second);
    for (const MemoryTarget& memory : memories_)
      for (const std::string& transport : transports_for(ranks, memory))
        for (const std::int64_t bytes : p2p_sizes(options_))
          if (!time({.ranks = ranks,
                     .kind = kind_of(ranks, memory.target),
                     .memory = std::string(name_of(memory.target.memory)),
                     .transport = transport,
                     .bytes = bytes},
                    pair, memory.target))
            break;
  }

  Communicator communicator_;
  const P2pBenchOptions& options_;
  std::vector<MemoryTarget> memories_;
  std::optional<P2pSpans> spans_;
  Notes notes_;
  P2pBenchResult result_;
};

}  // namespace

P2pBenchResult run_p2p_bench(const Communicator& communicator, const P2pBenchOptions& options) {
  return P2pBench(communicator, options).run();
}

}  // namespace halocline::bench
