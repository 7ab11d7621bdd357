// SPDX-License-Identifier: Apache-2.0
#include "solver/run_files/requests.hpp"

#include <algorithm>
#include <utility>

namespace halocline::solver {
namespace {

// Open MPI gives a rank about a second between a signal and its end: time for two turns and a
// checkpoint of a small run. An all-reduce each 0.1 s costs nothing that could be measured.
constexpr double shortest_turn = 0.1, longest_turn = 0.25;

}  // namespace

Requests::Requests(const Communicator& communicator, std::function<Request()> mine)
    : mine_(std::move(mine)), wanted_(communicator), seconds_(communicator) {}

Request Requests::agreed(std::int64_t sweeps) {
  if (sweeps < next_) return Request::none;
  const Request request = finish_round();
  ask(request);
  next_ = sweeps + step_;
  return request;
}

void Requests::finish() { finish_round(); }

/// `granted` is done next: this rank's request for it is not counted again.
void Requests::ask(Request granted) {
  using Kind = comm::NonblockingAllReduce::Kind;
  const Request mine = mine_();
  wanted_.start(Kind::max, static_cast<double>(mine == granted ? Request::none : mine));
  seconds_.start(Kind::max, seconds_since(asked_));
  asked_ = Clock::now();
}

/// The time of a turn is the slowest rank's, so that all take steps of one length.
Request Requests::finish_round() {
  if (!wanted_.in_flight()) return Request::none;
  const auto request = static_cast<Request>(static_cast<int>(wanted_.finish()));
  const double seconds = seconds_.finish();
  if (seconds < shortest_turn) step_ *= 2;
  if (seconds > longest_turn) step_ = std::max<std::int64_t>(1, step_ / 2);
  return request;
}

}  // namespace halocline::solver
