// SPDX-License-Identifier: Apache-2.0
#include "probe/probe.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "probe/probe_report.hpp"
#include "proof/pattern.hpp"

namespace halocline::proof {
namespace {

// Two rounds let a second message meet what the first left behind: registrations, caches of
// addresses; a third is sent after both.
constexpr int rounds = 3;

bool is_of_gpu(Memory memory) { return memory == Memory::device || memory == Memory::managed; }

/// Memory of a kind, and a copy of it that the host reads and writes.
class Buffer {
 public:
  Buffer(Memory memory, std::int64_t bytes)
      : bytes_(bytes), memory_(device::allocate(memory, bytes)), copy_(size()) {}

  void* get() const { return memory_.get(); }

  void fill(std::uint64_t seed) {
    proof::fill(copy_.data(), bytes_, seed);
    device::copy(memory_.get(), copy_.data(), bytes_, Stream::host());
  }

  std::int64_t first_difference(std::uint64_t seed) {
    device::copy(copy_.data(), memory_.get(), bytes_, Stream::host());
    return proof::first_difference(copy_.data(), bytes_, seed);
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(bytes_); }

  std::int64_t bytes_;
  std::shared_ptr<void> memory_;
  std::vector<std::byte> copy_;
};

/// What this rank sends to and gets from one neighbour of the ring.
struct Talk {
  int peer;
  Buffer out, in;
};

class Probe {
 public:
  Probe(const Communicator& communicator, const ProbeOptions& options)
      : communicator_(communicator), options_(options) {}

  ProbeEnd run() {
    say(begin_line());
    if (std::any_of(options_.memories.begin(), options_.memories.end(), is_of_gpu)) {
      try {
        comm::together(communicator_, [this] { gpu_ = take_gpu(communicator_, options_.gpus); });
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::communication) throw;
        for (const Memory memory : options_.memories) say(unavailable_line(memory, error.what()));
        say(end_line());
        return ProbeEnd::unavailable;
      }
    }
    for (const GpuPair pair : pairs_in_ring(communicator_, gpu_, options_.pairs))
      say(pair_line(pair));
    ProbeEnd end = ProbeEnd::all_proved;
    for (const Memory memory : options_.memories) {
      for (const std::int64_t bytes : options_.bytes) {
        const ProbeEnd step = try_step(memory, bytes);
        if (step != ProbeEnd::all_proved && end != ProbeEnd::something_wrong) end = step;
        if (step != ProbeEnd::all_proved) break;
      }
    }
    say(end_line());
    return end;
  }

 private:
  void say(const std::string& line) const {
    if (communicator_.rank() == 0) options_.say(line);
  }

  ProbeEnd try_step(Memory memory, std::int64_t bytes) {
    Step step{memory, bytes};
    say(step_line(step));
    std::vector<Talk> talks;
    try {
      comm::together(communicator_, [&] {
        for (const int peer : neighbours_in_ring(communicator_, options_.pairs))
          talks.push_back({peer, Buffer(memory, bytes), Buffer(memory, bytes)});
      });
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::communication) throw;
      say(unavailable_line(memory, error.what()));
      return ProbeEnd::unavailable;
    }
    try {
      step.text = exchange(talks, memory, bytes);
    } catch (const Error& error) {
      step.state = Step::State::failed;
      step.text = error.what();
      // The lowest rank that is still there says it: rank 0 may be the one that is lost.
      options_.say(step_line(step));
      throw;
    }
    step.state = step.text.empty() ? Step::State::proved : Step::State::wrong;
    say(step_line(step));
    return step.text.empty() ? ProbeEnd::all_proved : ProbeEnd::something_wrong;
  }

  /// Returns, on every rank, the first thing that was wrong on any.
  std::string exchange(std::vector<Talk>& talks, Memory memory, std::int64_t bytes) {
    std::vector<transport::Message> messages;
    for (const Talk& talk : talks)
      messages.push_back({.peer = talk.peer,
                          .send = {{talk.out.get(), bytes}},
                          .receive = {{talk.in.get(), bytes}},
                          .label = "a probe"});
    const auto channel = options_.transport.open(communicator_, std::move(messages), memory);
    const int me = communicator_.rank();
    std::string wrong;
    for (int round = 0; round < rounds; ++round) {
      for (Talk& talk : talks) talk.out.fill(seed_of(me, talk.peer, round));
      channel->start(Stream::host());
      channel->finish(Stream::host());
      for (Talk& talk : talks) {
        const std::int64_t at = talk.in.first_difference(seed_of(talk.peer, me, round));
        if (at < bytes && wrong.empty())
          wrong = text_of(WrongByte{.at = at, .bytes = bytes, .from = talk.peer, .to = me});
      }
    }
    std::string first;
    for (const std::string& text : comm::gather_texts(communicator_, wrong))
      if (first.empty()) first = text;
    return comm::broadcast(communicator_, first, 0);
  }

  const Communicator& communicator_;
  const ProbeOptions& options_;
  std::string gpu_;  // uuid; empty without one
};

}  // namespace

std::string take_gpu(const Communicator& communicator, GpuChoice choice) {
  const device::Gpus& there = device::gpus();
  if (const auto why = device::no_gpu_because()) throw Error(ErrorKind::unavailable, *why);
  const int me = communicator.rank();
  std::size_t rank_on_node = 0;
  for (int rank = 0; rank < me; ++rank)
    if (communicator.node_of(rank) == communicator.node_of(me)) ++rank_on_node;
  if (choice == GpuChoice::first) rank_on_node = 0;
  const device::Gpu& gpu = there.list[rank_on_node % there.list.size()];
  device::use(gpu);
  return gpu.uuid;
}

std::vector<GpuPair> pairs_in_ring(const Communicator& communicator, const std::string& gpu,
                                   Pairs tried) {
  const std::vector<std::string> gpus = comm::gather_texts(communicator, gpu);
  std::vector<GpuPair> pairs;
  if (communicator.rank() != 0) return pairs;
  const int ranks = communicator.size();
  for (int rank = 0; rank < ranks; ++rank) {
    const int next = (rank + 1) % ranks;
    const std::string& its = gpus[static_cast<std::size_t>(rank)];
    GpuPair pair = GpuPair::same_node;
    if (communicator.node_of(rank) != communicator.node_of(next))
      pair = GpuPair::other_node;
    else if (!its.empty() && its == gpus[static_cast<std::size_t>(next)])
      pair = GpuPair::same_gpu;
    if (pair == GpuPair::other_node && tried == Pairs::of_a_node) continue;
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
  }
  return pairs;
}

std::vector<int> neighbours_in_ring(const Communicator& communicator, Pairs tried) {
  const int me = communicator.rank(), ranks = communicator.size();
  const int next = (me + 1) % ranks, previous = (me + ranks - 1) % ranks;
  std::vector<int> neighbours{previous, next};
  if (next == previous) neighbours.pop_back();
  if (tried == Pairs::of_a_node)
    std::erase_if(neighbours, [&](int other) {
      return communicator.node_of(other) != communicator.node_of(me);
    });
  return neighbours;
}

std::vector<std::int64_t> sizes_to_probe() {
  return {8, 512, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20, 16 << 20};
}

ProbeEnd probe(const Communicator& communicator, const ProbeOptions& options) {
  if (communicator.size() < 2)
    throw Error(ErrorKind::usage, "a probe needs at least 2 ranks; start it with mpirun -n 2");
  if (!options.transport.capabilities().in_place)
    throw Error(
        ErrorKind::usage,
        fmt::format("transport {} sends only from its own memory, so a probe cannot test it",
                    options.transport.name()));
  return Probe(communicator, options).run();
}

}  // namespace halocline::proof
