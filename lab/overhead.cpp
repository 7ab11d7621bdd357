// SPDX-License-Identifier: Apache-2.0
#include "lab/overhead.hpp"

#include <functional>
#include <memory>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/pages.hpp"
#include "base/recorder.hpp"
#include "base/text/notes.hpp"
#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "lab/host_calls.hpp"
#include "lab/measured.hpp"
#include "mpi/mpi_messages.hpp"
#include "proof/pattern.hpp"
#include "solver/target.hpp"
#include "text/refuse.hpp"

namespace halocline::bench {
namespace {

using Stand = MessageCost::Stand;

constexpr std::int64_t most_message_bytes = 2147483647;  // an MPI count
constexpr std::int64_t most_memory_bytes = std::int64_t{1} << 40;
constexpr std::int64_t round_trips_at_once = 10;  // or the clock would weigh on short ones
constexpr std::int64_t calls_to_warm_up = 20;

/// Throws unavailable where there is no GPU to use.
solver::Target choose_gpu(const Communicator& communicator, Notes& notes) {
  SolveOptions where;
  where.backend = "cuda";
  try {
    return solver::choose_target(communicator, where, notes);
  } catch (const Error& error) {
    const std::string& why = device::gpus().none_because;
    if (error.kind() != ErrorKind::unavailable || why.empty()) throw;
    throw Error(ErrorKind::unavailable,
                fmt::format("this benchmark measures what a GPU costs its host: {}", why));
  }
}

double seconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return seconds_since(start);
}

/// Host memory as anybody has it, with all of its pages there.
class Pages {
 public:
  explicit Pages(std::int64_t bytes) : memory_(device::allocate(Memory::host, bytes)) {
    for (std::int64_t at = 0; at < bytes; at += page_bytes()) get()[at] = std::byte{1};
  }
  std::byte* get() const { return static_cast<std::byte*>(memory_.get()); }

 private:
  std::shared_ptr<void> memory_;
};

/// Messages of one size between two ranks, there and back.
class RoundTrips {
 public:
  RoundTrips(const Communicator& pair, Memory memory, std::int64_t bytes)
      : rank_(pair.rank()), bytes_(bytes) {
    comm::together(pair, [&] {
      out_ = device::allocate(memory, bytes);
      in_ = device::allocate(memory, bytes);
      proof::fill(static_cast<std::byte*>(out_.get()), bytes, proof::seed_of(rank_, 1 - rank_, 0));
    });
    using Turn = mpi::PlainPair::Turn;
    messages_.emplace(pair, mpi::PlainPair::Options{.peer = 1 - rank_,
                                                    .turn = rank_ == 0 ? Turn::first : Turn::second,
                                                    .out = out_.get(),
                                                    .in = in_.get(),
                                                    .bytes = bytes});
  }

  void run() { messages_->round_trips(round_trips_at_once); }
  std::string first_wrong() const {
    const std::int64_t at = proof::first_difference(static_cast<const std::byte*>(in_.get()),
                                                    bytes_, proof::seed_of(1 - rank_, rank_, 0));
    if (at == bytes_) return "";
    return text_of(proof::WrongByte{.at = at, .bytes = bytes_, .from = 1 - rank_, .to = rank_});
  }

 private:
  int rank_;
  std::int64_t bytes_;
  std::shared_ptr<void> out_, in_;
  std::optional<mpi::PlainPair> messages_;
};

class OverheadBench {
 public:
  OverheadBench(const Communicator& communicator, const OverheadBenchOptions& options)
      : communicator_(communicator), options_(options) {}

  OverheadBenchResult run();

 private:
  void time_messages(Stand stand);
  void time_pinning();
  void time_waiting(Stream stream);
  timing::TimeSummary time_call(const std::function<void()>& call,
                                const std::function<void()>& afterwards) const;

  Communicator communicator_;
  const OverheadBenchOptions& options_;
  OverheadBenchResult result_;
};

void OverheadBench::time_messages(Stand stand) {
  if (communicator_.size() < 2) return;
  const std::optional<Communicator> pair = comm::first_ranks(communicator_, 2);
  comm::on_first_ranks(communicator_, 2, [&] {
    for (const std::int64_t bytes : options_.message_sizes) {
      RoundTrips trips(*pair, stand == Stand::pinned ? Memory::pinned : Memory::host, bytes);
      MessageCost cost{.stand = stand, .bytes = bytes};
      trips.run();
      cost.time = each_of(timing::time_together(*pair, options_.loop, [&] { trips.run(); }),
                          2 * round_trips_at_once);
      for (const std::string& text : comm::gather_texts(*pair, trips.first_wrong()))
        if (!text.empty() && !cost.wrong) cost.wrong = text;
      result_.messages.push_back(std::move(cost));
    }
  });
}

/// Times calls one by one; what is done afterwards does not count.
timing::TimeSummary OverheadBench::time_call(const std::function<void()>& call,
                                             const std::function<void()>& afterwards) const {
  double each = 0;
  for (std::int64_t i = 0; i < calls_to_warm_up; ++i) {
    each = seconds_of([&] {
      call();
      afterwards();
    });
  }
  std::vector<double> seconds(
      static_cast<std::size_t>(timing::repetitions_for(each, options_.loop)));
  for (double& one : seconds) {
    one = seconds_of(call);
    afterwards();
  }
  return timing::summarize(std::move(seconds));
}

void OverheadBench::time_pinning() {
  for (const std::int64_t bytes : options_.memory_sizes) {
    const auto add = [&](const char* name, const char* text, const std::function<void()>& call,
                         const std::function<void()>& afterwards) {
      result_.pinning.push_back({name, text, bytes, time_call(call, afterwards)});
    };
    std::optional<Pages> pages;
    add(
        "pageable", "allocate host memory and touch its pages", [&] { pages.emplace(bytes); },
        [&] { pages.reset(); });
    std::shared_ptr<void> pinned;
    add(
        "pinned", "allocate pinned memory, zeroed",
        [&] { pinned = device::allocate(Memory::pinned, bytes); }, [&] { pinned.reset(); });
    pages.emplace(bytes);
    std::optional<Registered> registered;
    add(
        "register", "cudaHostRegister of memory with touched pages",
        [&] { registered.emplace(pages->get(), bytes); }, [&] { registered.reset(); });
    add(
        "unregister", "cudaHostUnregister", [&] { registered.reset(); },
        [&] { registered.emplace(pages->get(), bytes); });
  }
}

void OverheadBench::time_waiting(Stream stream) {
  device::Event event;
  std::int64_t calls = 0, wanted = 0;
  const auto synchronize = [&] { device::synchronize(stream); };
  const auto nothing = [] {};
  const auto poll = [&] {
    event.record(stream);
    while (!event.reached()) {
    }
  };
  const auto call_host = [&] {
    count_on_host(stream, calls);
    ++wanted;
    while (calls_so_far(calls) < wanted) {
    }
  };
  const auto launch = [&] { launch_nothing(stream); };
  const auto add = [&](const char* name, const char* text, const std::function<void()>& call,
                       const std::function<void()>& afterwards) {
    result_.waiting.push_back({name, text, 0, time_call(call, afterwards)});
  };
  add("launch", "launch an empty kernel", launch, synchronize);
  add(
      "record", "record an event", [&] { event.record(stream); }, synchronize);
  event.record(stream);
  synchronize();
  add(
      "query", "query a completed event", [&] { static_cast<void>(event.reached()); }, nothing);
  add("synchronize", "cudaStreamSynchronize of an idle stream", synchronize, nothing);
  add("record+query", "record an event on an idle stream and query until it completes", poll,
      nothing);
  add("host-function", "cudaLaunchHostFunc on an idle stream, until it has run", call_host,
      nothing);
  add(
      "launch+synchronize", "launch an empty kernel and wait for the stream",
      [&] {
        launch();
        synchronize();
      },
      nothing);
  add(
      "launch+record+query", "the same, querying an event",
      [&] {
        launch();
        poll();
      },
      nothing);
  add(
      "launch+host-function", "the same, with a host function",
      [&] {
        launch();
        call_host();
      },
      nothing);
}

OverheadBenchResult OverheadBench::run() {
  comm::together(communicator_, [&] { check(options_); });
  result_.mpi = comm::library_version();
  result_.ranks = communicator_.size();
  result_.nodes = communicator_.node_count();
  Notes notes;
  timing::note_crowding(communicator_, notes);
  if (communicator_.size() < 2) notes.add("one rank has no partner for messages; use --ranks 2");
  time_messages(Stand::before_gpu);
  const solver::Target target = choose_gpu(communicator_, notes);
  result_.devices = devices_of(communicator_, target);
  comm::together(communicator_, [&] { launch_nothing(target.stream()); });
  time_messages(Stand::host);
  time_messages(Stand::pinned);
  comm::on_first_rank(communicator_, [&] {
    time_pinning();
    time_waiting(target.stream());
  });
  result_.notes = notes.all();
  return std::move(result_);
}

}  // namespace

void check(const OverheadBenchOptions& options) {
  check(options.loop);
  for (const std::int64_t bytes : options.message_sizes)
    if (bytes < 1 || bytes > most_message_bytes)
      refuse(fmt::format("a message of {} bytes cannot be sent in one call; use 1 to {}", bytes,
                         most_message_bytes));
  for (const std::int64_t bytes : options.memory_sizes)
    if (bytes < 1 || bytes > most_memory_bytes)
      refuse(fmt::format("{} bytes cannot be pinned; use 1 to {}", bytes, most_memory_bytes));
}

OverheadBenchResult run_overhead_bench(const Communicator& communicator,
                                       const OverheadBenchOptions& options) {
  return OverheadBench(communicator, options).run();
}

}  // namespace halocline::bench
