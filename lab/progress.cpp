// SPDX-License-Identifier: Apache-2.0
#include "lab/progress.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>
#include <halocline/exchange.hpp>

#include "base/text/notes.hpp"
#include "base/text/words.hpp"
#include "bench/combinations.hpp"
#include "comm/collectives.hpp"
#include "comm/second_thread.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "lab/busy_work.hpp"
#include "lab/measured.hpp"
#include "lab/progress_thread.hpp"
#include "link/wait_for.hpp"
#include "machine/cores.hpp"
#include "proof/pattern.hpp"
#include "solver/memory.hpp"
#include "solver/target.hpp"
#include "text/refuse.hpp"
#include "transport/transport.hpp"

namespace halocline::bench {
namespace {

constexpr std::string_view mode_names[] = {"busy", "tests", "thread"};
constexpr std::int64_t most_parts = 1'000'000;
constexpr std::int64_t most_bytes_of_message = std::int64_t{1} << 40;

/// A row of bytes on two ranks: each one's halo is what the other owns.
class SentRow {
 public:
  SentRow(const Communicator& communicator, std::int64_t bytes, Memory memory)
      : rank_(communicator.rank()),
        bytes_(bytes),
        grid_(rank_, 2, {.cells = {2 * bytes}, .process_grid = {2}}),
        field_(grid_, {.name = "message", .halo = bytes, .memory = memory}) {}

  Exchange exchange(const Communicator& communicator, const std::string& transport) const {
    return {communicator, grid_, {field_}, {.transport = transport}};
  }
  void fill(int round) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_));
    device::copy(halo(), bytes.data(), bytes_, Stream::host());
    proof::fill(bytes.data(), bytes_, proof::seed_of(rank_, 1 - rank_, round));
    device::copy(field_.first_owned(), bytes.data(), bytes_, Stream::host());
  }
  std::optional<std::string> first_wrong(int round) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_));
    device::copy(bytes.data(), halo(), bytes_, Stream::host());
    const std::int64_t at =
        proof::first_difference(bytes.data(), bytes_, proof::seed_of(1 - rank_, rank_, round));
    if (at == bytes_) return std::nullopt;
    return text_of(proof::WrongByte{.at = at, .bytes = bytes_, .from = 1 - rank_, .to = rank_});
  }

 private:
  std::byte* halo() const { return field_.first_owned() + (rank_ == 0 ? bytes_ : -bytes_); }

  int rank_;
  std::int64_t bytes_;
  Grid grid_;
  Field<std::byte> field_;
};

class ProgressBench {
 public:
  ProgressBench(const Communicator& communicator, const ProgressBenchOptions& options)
      : communicator_(communicator), options_(options), work_(communicator) {}

  ProgressBenchResult run();

 private:
  void time(const Combination& combination);
  void time(const solver::Target& target, const std::string& transport, std::int64_t bytes);
  ProgressTiming measure(Exchange& exchange, const solver::Target& target);
  ProgressTiming::Mode measure(Exchange& exchange, const solver::Target& target,
                               const ProgressTiming& apart, ProgressMode mode);
  std::function<void()> during(Exchange& exchange, ProgressMode mode, std::int64_t rounds,
                               ProgressThread* thread);
  std::optional<std::string> first_wrong(const SentRow& row, int round);
  void find_modes();

  Communicator communicator_;
  const ProgressBenchOptions& options_;
  BusyWork work_;
  std::vector<ProgressMode> modes_;
  Notes notes_;
  ProgressBenchResult result_;
};

std::optional<std::string> ProgressBench::first_wrong(const SentRow& row, int round) {
  std::optional<std::string> mine;
  comm::together(communicator_, [&] { mine = row.first_wrong(round); });
  return first_said(communicator_, mine);
}

/// What the host does while messages should move.
std::function<void()> ProgressBench::during(Exchange& exchange, ProgressMode mode,
                                            std::int64_t rounds, ProgressThread* thread) {
  switch (mode) {
    case ProgressMode::busy:
      return [this, rounds] { work_.run(rounds); };
    case ProgressMode::tests:
      return [this, rounds, &exchange] {
        for (std::int64_t part = 0; part < options_.parts; ++part) {
          work_.run(rounds / options_.parts);
          exchange.progress();
        }
        work_.run(rounds % options_.parts);
      };
    case ProgressMode::thread:
      return [this, rounds, thread] {
        thread->begin();
        work_.run(rounds);
        thread->end();
      };
  }
  return {};
}

ProgressTiming::Mode ProgressBench::measure(Exchange& exchange, const solver::Target& target,
                                            const ProgressTiming& apart, ProgressMode mode) {
  const Stream stream = target.stream();
  std::optional<ProgressThread> thread;
  if (mode == ProgressMode::thread)
    thread.emplace(
        [&] {
          if (target.gpu) device::use(target.gpu->gpu);
        },
        [&] { exchange.progress(); });
  const std::function<void()> work = during(
      exchange, mode, work_.rounds_for(apart.alone.median_seconds), thread ? &*thread : nullptr);
  ProgressTiming::Mode result{.mode = mode};
  result.time = timing::time_together(communicator_, options_.loop, [&] {
    exchange.start(stream);
    work();
    exchange.finish(stream);
    link::wait_for(communicator_, stream);
  });
  result.overlap =
      overlap_of(apart.alone.median_seconds, apart.work.median_seconds, result.time.median_seconds);
  return result;
}

ProgressTiming ProgressBench::measure(Exchange& exchange, const solver::Target& target) {
  const Stream stream = target.stream();
  ProgressTiming timing;
  timing.alone = timing::time_together(communicator_, options_.loop, [&] {
    exchange.start(stream);
    exchange.finish(stream);
    link::wait_for(communicator_, stream);
  });
  const std::int64_t rounds = work_.rounds_for(timing.alone.median_seconds);
  timing.work = timing::time_together(communicator_, options_.loop, [&] { work_.run(rounds); });
  for (const ProgressMode mode : modes_)
    timing.modes.push_back(measure(exchange, target, timing, mode));
  return timing;
}

void ProgressBench::time(const solver::Target& target, const std::string& transport,
                         std::int64_t bytes) {
  std::unique_ptr<SentRow> row;
  comm::together(communicator_, [&] {
    // The owned bytes, the halos on both sides, and a copy to check what came.
    solver::require_memory(communicator_, {.bytes_per_rank = 4 * bytes,
                                           .what = fmt::format("messages of {} bytes", bytes),
                                           .advice = "use smaller messages"});
    row = std::make_unique<SentRow>(communicator_, bytes, target.memory);
    row->fill(0);
  });
  Exchange exchange = row->exchange(communicator_, transport);
  for (const std::string& note : exchange.info().notes) notes_.add(note);
  exchange.run(target.stream());
  link::wait_for(communicator_, target.stream());
  ProgressTiming timing;
  timing.wrong = first_wrong(*row, 0);
  if (!timing.wrong) {
    timing = measure(exchange, target);
    comm::together(communicator_, [&] { row->fill(1); });
    exchange.run(target.stream());
    link::wait_for(communicator_, target.stream());
    timing.wrong = first_wrong(*row, 1);
  }
  timing.memory = std::string(name_of(target.memory));
  timing.transport = transport;
  timing.bytes = bytes;
  result_.timings.push_back(std::move(timing));
}

void ProgressBench::time(const Combination& combination) {
  const bool known = std::any_of(result_.timings.begin(), result_.timings.end(),
                                 [&](const ProgressTiming& timing) {
                                   return timing.memory == name_of(combination.target.memory);
                                 });
  if (known) return;  // auto has come to the same
  if (result_.devices.empty() || combination.target.gpu)
    result_.devices = devices_of(communicator_, combination.target);
  for (const std::string& transport : combination.transports)
    for (const std::int64_t bytes : options_.sizes) time(combination.target, transport, bytes);
}

/// Leaves out the thread where MPI does not allow it, and says so.
void ProgressBench::find_modes() {
  modes_ = options_.modes;
  result_.threads = comm::thread_support();
  if (!comm::any_thread_may_call()) {
    if (std::erase(modes_, ProgressMode::thread) > 0)
      notes_.add(
          fmt::format("a progress thread is not timed: this MPI provides {}, and calling MPI "
                      "from a second thread needs MPI_THREAD_MULTIPLE",
                      result_.threads));
    return;
  }
  const bool threads =
      std::find(modes_.begin(), modes_.end(), ProgressMode::thread) != modes_.end();
  if (threads && result_.cores < 2 * communicator_.node_size())
    notes_.add(fmt::format("{} for {} and as many progress threads: the threads slow the work down",
                           counted(result_.cores, "core"),
                           counted(communicator_.node_size(), "rank")));
}

ProgressBenchResult ProgressBench::run() {
  comm::together(communicator_, [&] { check(options_, communicator_.size()); });
  result_.mpi = comm::library_version();
  result_.nodes = communicator_.node_count();
  result_.cores = machine::node_cores(communicator_);
  result_.parts = options_.parts;
  find_modes();
  const WaysWanted wanted{
      .memories = options_.memories, .transports = options_.transports, .proofs = options_.proofs};
  for (const Combination& combination : find_ways(communicator_, wanted, notes_)) time(combination);
  result_.notes = notes_.all();
  return std::move(result_);
}

}  // namespace

std::string_view name_of(ProgressMode mode) { return mode_names[static_cast<std::size_t>(mode)]; }

ProgressMode progress_mode_named(std::string_view name) {
  for (const ProgressMode mode : progress_modes)
    if (name_of(mode) == name) return mode;
  refuse(fmt::format("unknown mode '{}'; choose from: {}", name, fmt::join(mode_names, ", ")));
}

double overlap_of(double alone_seconds, double work_seconds, double together_seconds) {
  return (alone_seconds + work_seconds - together_seconds) / alone_seconds;
}

void check(const ProgressBenchOptions& options, int ranks) {
  check(options.loop);
  check_memories(options.memories);
  if (ranks != 2)
    refuse(fmt::format("progress is measured between 2 ranks, not {}; use --ranks 2", ranks));
  for (const std::int64_t bytes : options.sizes)
    if (bytes < 1 || bytes > most_bytes_of_message)
      refuse(fmt::format("a message of {} bytes cannot be sent; use 1 to {}", bytes,
                         most_bytes_of_message));
  if (options.parts < 1 || options.parts > most_parts)
    refuse(
        fmt::format("work cannot be broken into {} parts; use 1 to {}", options.parts, most_parts));
  for (const std::string& transport : options.transports) transport::find_transport(transport);
}

ProgressBenchResult run_progress_bench(const Communicator& communicator,
                                       const ProgressBenchOptions& options) {
  if (communicator.size() != 2) check(options, communicator.size());
  return ProgressBench(communicator, options).run();
}

}  // namespace halocline::bench
