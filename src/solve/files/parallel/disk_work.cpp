// SPDX-License-Identifier: Apache-2.0
#include "files/parallel/disk_work.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "comm/gate.hpp"

namespace halocline::files {
namespace {

constexpr const char* site = "file, disks";
constexpr int root = 0;

/// The state that a rank reports to the root, and the root to all: the first that is true of any
/// rank.
enum class Progress : int { busy, failed, done };

/// The interval at which a rank reports that its work takes longer. No write to an idle disk does.
std::chrono::duration<double> interval_of(const comm::State& state) {
  const double limit = state.settings().wait_limit.count();
  return std::chrono::duration<double>(limit > 0 ? std::min(0.5, limit / 4) : 0.5);
}

/// Buffers that MPI may still use after an error.
struct Words {
  std::vector<int> of_ranks;
  int mine = 0, of_all = 0;
};

std::string missing_of(const std::vector<MPI_Request>& requests) {
  std::string names;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    int there = 0;
    MPI_Request_get_status(requests[i], &there, MPI_STATUS_IGNORE);
    if (there == 0) names += fmt::format("{}rank {}", names.empty() ? "" : ", ", i + 1);
  }
  return names;
}

/// The root receives the state of every rank, then sends the result to all.
void ask_all(comm::State& state, int tag, const std::shared_ptr<Words>& words) {
  const auto others = static_cast<std::size_t>(state.size() - 1);
  words->of_ranks.assign(others, 0);
  std::vector<MPI_Request> requests(others, MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < others; ++i)
    comm::check(MPI_Irecv(&words->of_ranks[i], 1, MPI_INT, static_cast<int>(i) + 1, tag,
                          state.all(), &requests[i]),
                site);
  wait_all(state, requests,
           {.site = site, .phase = Phase::other, .missing = [&] { return missing_of(requests); }},
           words);
  words->of_all =
      std::min(words->mine, *std::min_element(words->of_ranks.begin(), words->of_ranks.end()));
  for (std::size_t i = 0; i < others; ++i)
    comm::check(MPI_Isend(&words->of_all, 1, MPI_INT, static_cast<int>(i) + 1, tag, state.all(),
                          &requests[i]),
                site);
  wait_all(state, requests,
           {.site = site, .phase = Phase::other, .missing = [&] { return missing_of(requests); }},
           words);
}

/// The others wait longer: the root, which waits for the same rank as they do, can name it.
void ask_root(comm::State& state, int tag, const std::shared_ptr<Words>& words) {
  std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
  comm::check(MPI_Isend(&words->mine, 1, MPI_INT, root, tag, state.all(), &requests[0]), site);
  comm::check(MPI_Irecv(&words->of_all, 1, MPI_INT, root, tag, state.all(), &requests[1]), site);
  wait_all(state, requests,
           {.site = site,
            .phase = Phase::other,
            .missing = [] { return fmt::format("rank {}", root); },
            .limit = comm::Wait::Limit::twice},
           words);
}

/// Collective.
Progress agree(comm::State& state, int tag, Progress mine) {
  const auto words = std::make_shared<Words>();
  words->mine = static_cast<int>(mine);
  if (state.rank() == root)
    ask_all(state, tag, words);
  else
    ask_root(state, tag, words);
  return static_cast<Progress>(words->of_all);
}

}  // namespace

/// Not by std::async: its future would wait for the work while an error of this rank has to be
/// reported.
void DiskWork::start(const std::function<int()>& work) {
  const auto result = std::make_shared<std::promise<int>>();
  result_ = result->get_future();
  try {
    std::thread([work, result] { result->set_value(work()); }).detach();
  } catch (const std::system_error&) {  // no more threads: then without them
    result->set_value(work());
  }
}

DiskEnd DiskWork::finish() {
  DiskEnd end;
  if (!result_.valid()) return end;
  comm::State& state = communicator_.state();
  const auto interval = interval_of(state);
  Progress mine = Progress::busy;
  for (;;) {
    if (state.size() == 1) result_.wait();
    if (mine == Progress::busy && result_.wait_for(interval) == std::future_status::ready) {
      end.error = result_.get();
      mine = end.error == 0 ? Progress::done : Progress::failed;
    }
    const Progress all = state.size() == 1 ? mine : agree(state, tag_, mine);
    if (all == Progress::busy) continue;
    end.on_all = all == Progress::done;
    return end;
  }
}

}  // namespace halocline::files
