// SPDX-License-Identifier: Apache-2.0
#include "lab/mesh_exchange.hpp"

#include <cstring>

#include <fmt/format.h>

#include "comm/collectives.hpp"
#include "comm/waiting.hpp"
#include "device/buffer.hpp"
#include "proof/pattern.hpp"

namespace halocline::bench {
namespace {

using Call = MeshStep::Call;
using Does = WaitState::Does;

bool is_send(const MeshStep& step) { return step.call == Call::send || step.call == Call::isend; }

bool blocks(const MeshStep& step) {
  return step.call == Call::send || step.call == Call::receive || step.call == Call::wait_all;
}

const char* site_of(const MeshStep& step) {
  return step.call == Call::send      ? "MPI_Send"
         : step.call == Call::receive ? "MPI_Recv"
                                      : "MPI_Waitall";
}

Does doing(const MeshStep& step) {
  return step.call == Call::send      ? Does::sends
         : step.call == Call::receive ? Does::receives
                                      : Does::waits_for_all;
}

std::shared_ptr<void> allocate_together(const Communicator& communicator, std::int64_t bytes) {
  std::shared_ptr<void> memory;
  comm::together(communicator, [&] { memory = device::allocate(Memory::host, bytes); });
  return memory;
}

}  // namespace

MeshExchange::MeshExchange(const Communicator& communicator, const MeshNeighbours& neighbours,
                           std::int64_t bytes)
    : communicator_(communicator),
      neighbours_(neighbours),
      bytes_(bytes),
      memory_(allocate_together(communicator, memory_bytes(bytes))),
      posted_(communicator, mesh_lanes, memory_) {}

std::byte* MeshExchange::outgoing(int lane) const {
  return static_cast<std::byte*>(memory_.get()) + lane * bytes_;
}

std::byte* MeshExchange::incoming(int lane) const { return outgoing(mesh_lanes + lane); }

/// Lanes differ, too: two neighbours may be the same rank.
static int round_of(int round, int lane) { return round * mesh_lanes + lane; }

void MeshExchange::fill(int round) {
  for (int lane = 0; lane < mesh_lanes; ++lane) {
    const int to = neighbours_[static_cast<std::size_t>(lane)];
    if (to >= 0)
      proof::fill(outgoing(lane), bytes_,
                  proof::seed_of(communicator_.rank(), to, round_of(round, lane)));
    if (neighbours_[static_cast<std::size_t>(opposite(lane))] >= 0)
      std::memset(incoming(lane), 0, static_cast<std::size_t>(bytes_));
  }
}

std::optional<std::string> MeshExchange::first_wrong(int round) const {
  for (int lane = 0; lane < mesh_lanes; ++lane) {
    const int from = neighbours_[static_cast<std::size_t>(opposite(lane))];
    if (from < 0) continue;
    const std::int64_t at = proof::first_difference(
        incoming(lane), bytes_, proof::seed_of(from, communicator_.rank(), round_of(round, lane)));
    if (at < bytes_)
      return text_of(
          proof::WrongByte{.at = at, .bytes = bytes_, .from = from, .to = communicator_.rank()},
          fmt::format(", {},", name_of_lane(lane)));
  }
  return std::nullopt;
}

void MeshExchange::begin() {
  posted_.clear();
  times_.messages.clear();
  state_ = {};
  times_.begin = Clock::now();
}

void MeshExchange::note_ends() {
  times_.end = Clock::now();
  for (std::size_t i = 0; i < times_.messages.size(); ++i)
    times_.messages[i].end = posted_.done_at(i);
}

void MeshExchange::post(const MeshStep& step) {
  const auto size = static_cast<std::size_t>(bytes_);
  times_.messages.push_back({step, Clock::now(), {}});
  const std::uint32_t bit = 1u << step.lane;
  if (is_send(step)) {
    state_.sent |= bit;
    posted_.send(step.peer, step.lane, {outgoing(step.lane), size});
  } else {
    state_.received |= bit;
    posted_.receive(step.peer, step.lane, {incoming(step.lane), size});
  }
}

/// False if a deadlock was found meanwhile.
bool MeshExchange::wait_until(const char* site, const std::function<std::string()>& missing,
                              const std::function<bool()>& done, DeadlockDetector* watch) {
  auto verdict = DeadlockDetector::Verdict::open;
  comm::wait_until(communicator_.state(), {.site = site, .missing = missing}, [&] {
    if (done()) return true;
    if (watch != nullptr) verdict = watch->look(state_);
    return verdict != DeadlockDetector::Verdict::open;
  });
  return verdict != DeadlockDetector::Verdict::deadlock;
}

bool MeshExchange::wait(const MeshStep& step, DeadlockDetector* watch) {
  state_.does = doing(step);
  state_.peer = step.peer;
  state_.lane = step.lane;
  const auto missing = [&] {
    return step.call == Call::wait_all
               ? "its neighbours"
               : fmt::format("rank {}, {}", step.peer, name_of_lane(step.lane));
  };
  const std::size_t last = times_.messages.size() - 1;
  const bool well = wait_until(
      site_of(step), missing,
      [&] { return step.call == Call::wait_all ? posted_.all_done() : posted_.done(last); }, watch);
  ++state_.step;
  return well;
}

bool MeshExchange::take(const MeshStep& step, DeadlockDetector* watch) {
  if (step.call != Call::wait_all) post(step);
  return !blocks(step) || wait(step, watch);
}

void MeshExchange::run(const std::vector<MeshStep>& steps) {
  begin();
  for (const MeshStep& step : steps) take(step, nullptr);
  note_ends();
}

std::optional<MeshExchange::Stuck> MeshExchange::try_out(const std::vector<MeshStep>& steps) {
  DeadlockDetector watch(communicator_);
  begin();
  std::size_t done = 0;
  bool well = true;
  while (well && done < steps.size()) well = take(steps[done++], &watch);
  note_ends();
  if (well) {
    state_.does = Does::nothing_more;
    well = wait_until(
        "the end of a mesh exchange", [] { return "the other ranks"; }, [] { return false; },
        &watch);
    if (well) return std::nullopt;
  }
  // All ranks know, so all post what they have not come to, and messages get through.
  Stuck result{watch.circle(), watch.states(), Clock::now()};
  if (state_.does != Does::nothing_more) times_.end = result.found;
  for (MeshTimes::Message& message : times_.messages)
    if (message.end == Clock::time_point()) message.end = result.found;
  const MeshTimes stuck = times_;
  for (; done < steps.size(); ++done)
    if (steps[done].call != Call::wait_all) post(steps[done]);
  wait({.call = Call::wait_all}, nullptr);
  times_ = stuck;
  return result;
}

}  // namespace halocline::bench
