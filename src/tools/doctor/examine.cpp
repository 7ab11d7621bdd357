// SPDX-License-Identifier: Apache-2.0
#include "doctor/examine.hpp"

#include <filesystem>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <sys/stat.h>

#include <halocline/error.hpp>

#include "base/host_name.hpp"
#include "base/recorder.hpp"
#include "bench/harness.hpp"
#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "doctor/collectives.hpp"
#include "doctor/direct_reads.hpp"
#include "doctor/libraries.hpp"
#include "doctor/node_facts.hpp"
#include "doctor/ring.hpp"
#include "doctor/said.hpp"
#include "doctor/speeds.hpp"
#include "exchange/selection/race.hpp"
#include "machine/cores.hpp"
#include "mpi/claims.hpp"
#include "mpi/mpi_messages.hpp"
#include "probe/in_stream.hpp"
#include "proof/in_job.hpp"
#include "proof/pattern.hpp"

namespace halocline::doctor {
namespace {

std::string namespace_of(const char* kind) {
  std::error_code ignored;
  return std::filesystem::read_symlink(fmt::format("/proc/self/ns/{}", kind), ignored).string();
}

std::string device_of(const char* folder) {
  struct stat seen {};
  return ::stat(folder, &seen) == 0 ? fmt::format("{}", seen.st_dev) : "";
}

RankSeen this_rank(const Communicator& communicator) {
  return {.rank = communicator.rank(),
          .size = communicator.size(),
          .host = host_name(),
          .mpi = comm::library_version(),
          .cores = machine::ranges_of(machine::allowed_cores()),
          .ipc_namespace = namespace_of("ipc"),
          .process_namespace = namespace_of("pid"),
          .shm_device = device_of("/dev/shm")};
}

/// Where each rank is.
std::vector<int> nodes_of_ranks(const Communicator& communicator) {
  std::vector<int> nodes;
  for (int rank = 0; rank < communicator.size(); ++rank)
    nodes.push_back(communicator.node_of(rank));
  return nodes;
}

/// What two ranks exchange in one of MPI's ways: one after the other, or at once.
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

/// Two ranks send to each other. Returns what was wrong, on every rank.
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

std::vector<transport::Message> messages_in_ring(const Communicator& communicator,
                                                 Distance distance, std::int64_t bytes) {
  std::vector<transport::Message> messages;
  for (const int peer : neighbours(nodes_of_ranks(communicator), communicator.rank(), distance))
    messages.push_back({.peer = peer,
                        .send = {{nullptr, bytes}},
                        .receive = {{nullptr, bytes}},
                        .label = "a probe"});
  return messages;
}

/// What was wrong with messages of one size, on every rank.
struct Fault {
  Outcome outcome = Outcome::works;
  std::string how = {};
};

Fault wrong_if(const std::string& how) {
  return {how.empty() ? Outcome::works : Outcome::wrong, how};
}

using Placement = exchange::TrialFields::Placement;

class PathExaminer {
 public:
  PathExaminer(const Communicator& communicator, const PathsToExamine& wanted, const Say& say)
      : communicator_(communicator), wanted_(wanted), say_(say) {}

  void run() {
    for (const Path& path : wanted_.paths) examine(path);
    say(ends_line());
  }

 private:
  void say(const std::string& line) const {
    if (communicator_.rank() == 0) say_(line);
  }

  void examine(const Path& path) {
    const auto pair = first_pair(nodes_of_ranks(communicator_), path.distance);
    if (!pair)
      return say(outcome_line(path, Outcome::unavailable,
                              path.distance == Distance::same_node ? "no two ranks share a node"
                                                                   : "all ranks are on one node"));
    try {
      Time time;
      for (const std::int64_t bytes : sizes_of(path)) {
        if (time.us > 0 && seconds_for(path, bytes, time) > most_seconds) break;
        say(trying_line(path, bytes));
        time = {bytes};
        if (const Fault fault = examine(path, time); fault.outcome != Outcome::works)
          return say(outcome_line(path, fault.outcome, fault.how));
        say(arrived_line(path, is_plain(path) ? Time{bytes} : time));
      }
      say(outcome_line(path, Outcome::works, ""));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::communication) {
        // The lowest rank that is still there says it: rank 0 may be the one that is lost.
        say_(outcome_line(path, Outcome::failed, error.what()));
        throw;
      }
      say(outcome_line(path, Outcome::unavailable, error.what()));
    }
  }

  /// Ways of MPI are tried on both sides of what it may send otherwise: eagerly, by rendezvous, in
  /// pieces. They are not timed, so more sizes take no longer.
  std::vector<std::int64_t> sizes_of(const Path& path) const {
    if (is_plain(path)) return proof::sizes_to_probe();
    std::vector<std::int64_t> sizes = wanted_.bytes;
    // Every rank gets the data of all.
    constexpr std::int64_t most_bytes = std::int64_t{256} << 20;
    if (is_collective(path))
      std::erase_if(sizes, [&](std::int64_t bytes) {
        return bytes * communicator_.size() > most_bytes && bytes > 64 << 10;
      });
    return sizes;
  }

  /// A network may be so slow that what it shows with large messages is not worth the wait.
  static constexpr double most_seconds = 3;
  static double seconds_for(const Path& path, std::int64_t bytes, const Time& before) {
    const int times_each = is_plain(path) ? 1 : 13;  // to prove, to warm up, to time
    // What less than that takes does not grow with it.
    if (before.bytes < 64 << 10) return 0;
    return times_each * 1e-6 * before.us * static_cast<double>(bytes) /
           static_cast<double>(before.bytes);
  }

  /// Returns what was wrong and, if nothing was, how long it took.
  Fault examine(const Path& path, Time& time) {
    if (is_plain(path)) return send_once(path, time);
    if (gpu_reads(path.memory) && !has_gpu_) {
      comm::together(communicator_, [this] { proof::take_gpu(communicator_, wanted_.gpus); });
      has_gpu_ = true;
    }
    return is_collective(path) ? call_together(path, time) : exchange(path, time);
  }

  /// The time is of one try: enough to know how long a larger message would take.
  Fault send_once(const Path& path, Time& time) {
    const auto begun = Clock::now();
    const std::string wrong =
        send_plainly(communicator_, path.transport,
                     *first_pair(nodes_of_ranks(communicator_), path.distance), time.bytes);
    time.us = comm::max_over_ranks(
        communicator_, std::chrono::duration<double, std::micro>(Clock::now() - begun).count());
    return wrong_if(wrong);
  }

  Fault call_together(const Path& path, Time& time) {
    Collective collective(communicator_, path, time.bytes);
    if (const std::string wrong = collective.prove(); !wrong.empty()) return wrong_if(wrong);
    time.us = us_of(time.bytes, [&] { collective.call(); });
    return {};
  }

  Fault exchange(const Path& path, Time& time) {
    const std::vector<Placement> placements = placements_of(path, time.bytes);
    for (const Placement placement : placements) {
      exchange::Trial trial(
          communicator_, transport::find_transport(path.transport),
          messages_in_ring(communicator_, path.distance, time.bytes),
          {.memory = path.memory, .allocator = path.allocator, .placement = placement});
      if (const Fault fault = prove(path, trial, time.bytes); fault.outcome != Outcome::works)
        return fault;
      if (placement == placements.back()) time.us = us_of(time.bytes, [&] { trial.run(); });
    }
    if (goes_in_stream(path, time.bytes)) say(in_order_line(path, time.bytes));
    return {};
  }

  /// Larger messages go as the largest of these do, only longer.
  static bool goes_in_stream(const Path& path, std::int64_t bytes) {
    return gpu_reads(path.memory) && bytes <= 1 << 20;
  }

  /// Of which the last is timed: packed fields are the rule, but memory that MPI may not take is to
  /// be given to it as it is.
  static std::vector<Placement> placements_of(const Path& path, std::int64_t bytes) {
    const bool in_place = transport::find_transport(path.transport).capabilities().in_place;
    if (!gpu_reads(path.memory) || !in_place) return {Placement::in_slots};
    if (path.allocator != device::Allocator::ordinary) return {Placement::in_place};
    if (!goes_in_stream(path, bytes)) return {Placement::in_slots};
    return {Placement::in_place, Placement::in_slots};
  }

  Fault prove(const Path& path, exchange::Trial& trial, std::int64_t bytes) const {
    if (!goes_in_stream(path, bytes))
      return wrong_if(comm::first_text(
          communicator_, proof::prove(communicator_, trial.channel(), trial.messages(), path.memory)
                             .value_or("")));
    const proof::StreamFaults faults =
        proof::prove_in_stream(communicator_, trial.channel(), trial.messages(),
                               {.memory = path.memory, .allocator = path.allocator});
    if (!faults.order.empty()) return {Outcome::out_of_order, faults.order};
    return wrong_if(faults.bytes);
  }

  double us_of(std::int64_t bytes, const std::function<void()>& work) const {
    // The best of them: a node that does other things too is not to be taken for a slow path.
    const bench::LoopOptions loop{.repetitions = bytes < (1 << 20) ? 0 : 7,
                                  .seconds = wanted_.seconds_each};
    return 1e6 * bench::time_together(communicator_, loop, work).min_seconds;
  }

  const Communicator& communicator_;
  const PathsToExamine& wanted_;
  const Say& say_;
  bool has_gpu_ = false;
};

/// What this rank's node is, and how fast its host side.
NodeSeen this_node(const Communicator& communicator) {
  const NodeFacts facts = read_node(current_variables());
  NodeSeen node{.node = communicator.node_of(communicator.rank()),
                .host = facts.host,
                .processor = facts.processor,
                .online_threads = facts.online_threads,
                .mpi = facts.mpi,
                .libraries = facts.libraries,
                .kernel_driver = facts.kernel_driver,
                .shm_bytes = facts.limits.shm_bytes};
  for (const device::Gpu& gpu : device::gpus().list) node.gpus.push_back(gpu.name);
  for (const Adapter& adapter : facts.adapters) node.adapters.push_back(adapter.name);
  node.near_adapters = near_adapters(device::gpus().list, facts.adapters);
  time_node(node);
  return node;
}

/// The first rank of each node says what it is and how fast its parts are.
void examine_nodes(const Communicator& communicator, const Say& say) {
  const std::vector<int> firsts = first_ranks(nodes_of_ranks(communicator));
  const int node = communicator.node_of(communicator.rank());
  const bool speaks = firsts[static_cast<std::size_t>(node)] == communicator.rank();
  if (communicator.rank() == 0) say(doing_line("timing host memory copies"));
  if (speaks) say(line_of(this_node(communicator)));
  comm::barrier(communicator);
  const auto here = static_cast<std::int64_t>(device::gpus().list.size());
  // One by one: no rank waits for another longer than one of them takes.
  for (int gpu = 0; gpu < comm::max_over_ranks(communicator, here); ++gpu) {
    if (communicator.rank() == 0) say(doing_line(fmt::format("timing copies of GPU {}", gpu)));
    if (speaks && gpu < here) {
      try {
        say(speed_line(node, time_gpu(gpu)));
      } catch (const Error&) {
        // In use by somebody else, or not for us: what is wrong with it, paths and modes tell.
      }
    }
    comm::barrier(communicator);
  }
  if (communicator.rank() == 0 && communicator.node_count() > 1)
    say(doing_line("timing messages between nodes"));
  time_links(communicator, [&](const Link& link) { say(line_of(link)); });
}

}  // namespace

void examine_facts(const Communicator& communicator, const Say& say) {
  const bool is_first = communicator.rank() == 0;
  const auto say_once = [&](const std::string& line) {
    if (is_first) say(line);
  };
  say(line_of(this_rank(communicator)));
  if (is_first) say(line_of(mpi::claims()));
  if (device::gpus_are_supported()) {
    say_once(doing_line("querying the driver for GPUs"));
    device::gpus();
  }
  say_once(doing_line("gathering facts from all ranks (MPI_Iallgather, MPI_Isend, MPI_Ibcast)"));
  for (const machine::RankFacts& facts : machine::gather_facts(communicator))
    say_once(machine_line(facts));
  if (is_first) {
    const device::Gpus& gpus = device::gpus();
    say(gpus_line(gpus.driver, gpus.runtime, device::peer_access()));
  }
  if (communicator.size() > 1 && communicator.node_count() == 1) {
    say_once(doing_line("reading another rank's memory"));
    const DirectReads reads = try_direct_reads(communicator);
    say_once(direct_reads_line(reads.work, reads.because));
  }
  if (is_first)
    for (const Library& library : find_libraries(current_variables(), [&](const std::string& file) {
           say(doing_line("loading " + file));
         }))
      say(line_of(library));
  comm::barrier(communicator);
  examine_nodes(communicator, say);
  say_once(ends_line());
}

void examine_paths(const Communicator& communicator, const PathsToExamine& wanted, const Say& say) {
  if (communicator.size() < 2)
    throw Error(ErrorKind::usage, "paths need at least 2 ranks; start with mpirun -n 2");
  PathExaminer(communicator, wanted, say).run();
}

}  // namespace halocline::doctor
