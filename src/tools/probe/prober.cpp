// SPDX-License-Identifier: Apache-2.0
#include "probe/prober.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/recorder.hpp"
#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "exchange/selection/race.hpp"
#include "machine/gpu_binding.hpp"
#include "mpi/mpi_messages.hpp"
#include "probe/collectives.hpp"
#include "probe/in_stream.hpp"
#include "probe/lines.hpp"
#include "probe/ring.hpp"
#include "proof/in_job.hpp"
#include "proof/pattern.hpp"
#include "timing/harness.hpp"

namespace halocline::probe {
namespace {

/// Two ranks exchange messages by MPI calls: one after the other with plain_mpi, otherwise at once.
void send_and_receive(const Communicator& communicator, const std::string& way,
                      std::pair<int, int> pair, const std::vector<std::byte>& out,
                      std::vector<std::byte>& in) {
  const bool begins = communicator.rank() == pair.first;
  const int peer = begins ? pair.second : pair.first;
  if (way != plain_mpi)
    return mpi::mpi_exchange(communicator,
                             way == plain_ways[1]   ? mpi::Way::posted
                             : way == plain_ways[2] ? mpi::Way::persistent
                                                    : mpi::Way::sendrecv,
                             peer, out, in);
  if (begins) mpi::mpi_send(communicator, peer, out);
  mpi::mpi_receive(communicator, peer, in);
  if (!begins) mpi::mpi_send(communicator, peer, out);
}

/// Two ranks send to each other. Returns the first error, on every rank.
std::string send_plainly(const Communicator& communicator, const std::string& way,
                         std::pair<int, int> pair, std::int64_t bytes) {
  const int me = communicator.rank();
  std::string wrong;
  if (me == pair.first || me == pair.second) {
    const int peer = me == pair.first ? pair.second : pair.first;
    std::vector<std::byte> out(static_cast<std::size_t>(bytes)), in(out.size());
    proof::fill(out.data(), bytes, proof::seed_of(me, peer, 0));
    send_and_receive(communicator, way, pair, out, in);
    const std::int64_t at = proof::first_difference(in.data(), bytes, proof::seed_of(peer, me, 0));
    if (at < bytes)
      wrong = text_of(proof::WrongByte{.at = at, .bytes = bytes, .from = peer, .to = me});
  }
  return comm::first_text(communicator, wrong);
}

/// The fault found with messages of one size, the same on every rank.
struct Fault {
  Outcome outcome = Outcome::works;
  std::string how = {};
};

Fault wrong_if(const std::string& how) {
  return {how.empty() ? Outcome::works : Outcome::wrong, how};
}

/// Starts using this rank's GPU and returns its UUID. Throws unavailable without one, and what
/// device::use() throws, the same on every rank. Collective.
std::string take_gpu(const Communicator& communicator, GpuChoice choice) {
  if (choice == GpuChoice::as_in_runs) return machine::bind_gpu(communicator).gpu.uuid;
  std::string uuid;
  comm::together(communicator, [&] {
    if (const auto why = device::no_gpu_because()) throw Error(ErrorKind::unavailable, *why);
    const device::Gpu& gpu = device::gpus().list.front();
    device::use(gpu);
    uuid = gpu.uuid;
  });
  return uuid;
}

using Placement = exchange::TrialFields::Placement;

class Prober {
 public:
  Prober(const Communicator& communicator, const PathsToTry& wanted, const PrintLine& say)
      : communicator_(communicator),
        wanted_(wanted),
        print_line_(say),
        node_of_(nodes_of_ranks(communicator)) {}

  void run() {
    for (const Path& path : wanted_.paths) examine(path);
    print(ends_line());
  }

 private:
  void print(const std::string& line) const {
    if (communicator_.rank() == 0) print_line_(line);
  }

  void examine(const Path& path) {
    if (!first_pair(node_of_, path.distance))
      return print(outcome_line(path, Outcome::unavailable,
                                path.distance == Distance::same_node
                                    ? "no two ranks share a node"
                                    : "all ranks are on one node"));
    try {
      if (gpu_reads(path.memory)) take_gpu_once();
      if (!is_plain(path) && !is_collective(path)) print(pairs_line(path, pairs_of(path)));
      Time last;
      for (const std::int64_t bytes : sizes_of(path)) {
        if (last.us > 0 && seconds_for(path, bytes, last) > most_seconds) break;
        print(trying_line(path, bytes));
        Time time{bytes};
        if (const Fault fault = examine(path, time); fault.outcome != Outcome::works)
          return print(outcome_line(path, fault.outcome, fault.how));
        print(arrived_line(path, is_timed(path, bytes) ? time : Time{bytes}));
        if (time.us > 0) last = time;
      }
      print(outcome_line(path, Outcome::works, ""));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::communication) {
        // Each remaining rank prints it, as rank 0 may be lost.
        print_line_(outcome_line(path, Outcome::failed, error.what()));
        throw;
      }
      print(outcome_line(path, Outcome::unavailable, error.what(),
                         error.kind() != ErrorKind::unavailable));
    }
  }

  void take_gpu_once() {
    if (!gpu_) gpu_ = take_gpu(communicator_, wanted_.gpus);
  }

  /// Returns the kinds of pairs that this path's messages connect, on rank 0.
  std::vector<GpuPair> pairs_of(const Path& path) const {
    const std::vector<std::string> gpus = comm::gather_texts(communicator_, gpu_.value_or(""));
    if (communicator_.rank() != 0) return {};
    return pairs_in_ring(node_of_, gpus, path.distance);
  }

  /// Faults may depend on size, so sizes lie on both sides of MPI's protocol changes: eager,
  /// rendezvous, in pieces.
  std::vector<std::int64_t> sizes_of(const Path& path) const {
    if (!wanted_.bytes.empty()) return wanted_.bytes;
    if (is_plain(path) || needs_proof(path)) return sizes_to_prove();
    std::vector<std::int64_t> sizes = sizes_to_time();
    // In an allgather every rank receives the data of all.
    constexpr std::int64_t most_bytes = std::int64_t{256} << 20;
    if (is_collective(path))
      std::erase_if(sizes, [&](std::int64_t bytes) {
        return bytes * communicator_.size() > most_bytes && bytes > 64 << 10;
      });
    return sizes;
  }

  static bool needs_proof(const Path& path) {
    return !is_plain(path) && !is_collective(path) &&
           transport::find_transport(path.transport).capabilities().needs_proof;
  }

  /// Plain ways are not timed: transport mpi times the same MPI.
  bool is_timed(const Path& path, std::int64_t bytes) const {
    const std::vector<std::int64_t> sizes = sizes_to_time();
    return wanted_.timing == Timing::each_size && !is_plain(path) &&
           std::find(sizes.begin(), sizes.end(), bytes) != sizes.end();
  }

  /// On very slow networks large messages are not worth the wait.
  static constexpr double most_seconds = 3;
  static double seconds_for(const Path& path, std::int64_t bytes, const Time& before) {
    const int times_each = is_plain(path) ? 1 : 13;  // to prove, to warm up, to time
    // Times of smaller messages are not proportional to size.
    if (before.bytes < 64 << 10) return 0;
    return times_each * 1e-6 * before.us * static_cast<double>(bytes) /
           static_cast<double>(before.bytes);
  }

  /// Returns the fault, and sets the time if there is none.
  Fault examine(const Path& path, Time& time) {
    if (is_plain(path)) return send_once(path, time);
    return is_collective(path) ? call_together(path, time) : exchange(path, time);
  }

  /// Sets the time of a single try, which is enough to estimate larger messages.
  Fault send_once(const Path& path, Time& time) {
    const auto begun = Clock::now();
    const std::string wrong = send_plainly(communicator_, path.transport,
                                           *first_pair(node_of_, path.distance), time.bytes);
    time.us = comm::max_over_ranks(
        communicator_, std::chrono::duration<double, std::micro>(Clock::now() - begun).count());
    return wrong_if(wrong);
  }

  Fault call_together(const Path& path, Time& time) {
    Collective collective(communicator_, path, time.bytes);
    if (const std::string wrong = collective.prove(); !wrong.empty()) return wrong_if(wrong);
    if (is_timed(path, time.bytes)) time.us = us_of(time.bytes, [&] { collective.call(); });
    return {};
  }

  std::vector<transport::Message> messages_in_ring(Distance distance, std::int64_t bytes) const {
    std::vector<transport::Message> messages;
    for (const int peer : neighbours(node_of_, communicator_.rank(), distance))
      messages.push_back({.peer = peer,
                          .send = {{nullptr, bytes}},
                          .receive = {{nullptr, bytes}},
                          .label = "a probe"});
    return messages;
  }

  Fault exchange(const Path& path, Time& time) {
    const std::vector<Placement> placements = placements_of(path, time.bytes);
    for (const Placement placement : placements) {
      exchange::Trial trial(
          communicator_, transport::find_transport(path.transport),
          messages_in_ring(path.distance, time.bytes),
          {.memory = path.memory, .allocator = path.allocator, .placement = placement});
      if (const Fault fault = prove(path, trial, time.bytes); fault.outcome != Outcome::works)
        return fault;
      if (placement == placements.back() && is_timed(path, time.bytes))
        time.us = us_of(time.bytes, [&] { trial.run(); });
    }
    if (goes_in_stream(path, time.bytes)) print(in_order_line(path, time.bytes));
    return {};
  }

  /// Larger messages take the same path as the largest of these.
  static bool goes_in_stream(const Path& path, std::int64_t bytes) {
    return gpu_reads(path.memory) && bytes <= 1 << 20;
  }

  /// The last placement is timed: in slots as for packed fields, but memory of other allocators is
  /// passed to MPI in place.
  static std::vector<Placement> placements_of(const Path& path, std::int64_t bytes) {
    const bool in_place = transport::find_transport(path.transport).capabilities().in_place;
    if (!gpu_reads(path.memory) || !in_place) return {Placement::in_slots};
    if (path.allocator != device::Allocator::ordinary) return {Placement::in_place};
    if (!goes_in_stream(path, bytes))
      return {needs_proof(path) ? Placement::in_place : Placement::in_slots};
    return {Placement::in_place, Placement::in_slots};
  }

  Fault prove(const Path& path, exchange::Trial& trial, std::int64_t bytes) const {
    if (!goes_in_stream(path, bytes))
      return wrong_if(comm::first_text(
          communicator_, proof::prove(communicator_, trial.channel(), trial.messages(), path.memory)
                             .value_or("")));
    const transport::Capabilities can = transport::find_transport(path.transport).capabilities();
    const StreamFaults faults =
        prove_in_stream(communicator_, trial.channel(), trial.messages(),
                        {.memory = path.memory,
                         .allocator = path.allocator,
                         .in_graph = can.carrier == transport::Carrier::stream &&
                                     !trial.channel().kernels_signal()});
    if (!faults.order.empty()) return {Outcome::out_of_order, faults.order};
    return wrong_if(faults.bytes);
  }

  double us_of(std::int64_t bytes, const std::function<void()>& work) const {
    // The minimum, so that other work on the node does not make a path look slow.
    const timing::LoopOptions loop{.repetitions = bytes < (1 << 20) ? 0 : 7, .seconds = 0.02};
    return 1e6 * timing::time_together(communicator_, loop, work).min_seconds;
  }

  const Communicator& communicator_;
  const PathsToTry& wanted_;
  const PrintLine& print_line_;
  const std::vector<int> node_of_;
  std::optional<std::string> gpu_;  // UUID of this rank's GPU, once it is in use
};

}  // namespace

std::vector<std::string> words_of(const PathsToTry& wanted) {
  std::vector<std::string> names;
  for (const Path& path : wanted.paths) names.push_back(word_of(path));
  std::vector<std::string> words{"--paths", fmt::format("{}", fmt::join(names, ",")), "--gpus",
                                 wanted.gpus == GpuChoice::first ? "first" : "as-in-runs"};
  if (!wanted.bytes.empty())
    words.insert(words.end(), {"--bytes", fmt::format("{}", fmt::join(wanted.bytes, ","))});
  if (wanted.timing == Timing::none) words.emplace_back("--untimed");
  return words;
}

void try_in_ranks(const Communicator& communicator, const PathsToTry& wanted,
                  const PrintLine& say) {
  if (communicator.size() < 2)
    throw Error(ErrorKind::usage, "paths need at least 2 ranks; start with mpirun -n 2");
  Prober(communicator, wanted, say).run();
}

}  // namespace halocline::probe
