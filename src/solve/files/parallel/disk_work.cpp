// SPDX-License-Identifier: Apache-2.0
#include "files/parallel/disk_work.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "comm/messages.hpp"
#include "comm/settings.hpp"

namespace halocline::files {
namespace {

constexpr int root = 0;

/// The state that a rank reports to the root, and the root to all: the first that is true of any
/// rank.
enum class Progress : int { busy, failed, done };

/// The interval at which a rank reports that its work takes longer. No write to an idle disk does.
std::chrono::duration<double> interval_of(const Communicator& communicator) {
  const double limit = comm::settings_of(communicator).wait_limit.count();
  return std::chrono::duration<double>(limit > 0 ? std::min(0.5, limit / 4) : 0.5);
}

/// Buffers that MPI may still use after an error.
struct Words {
  std::vector<Progress> of_ranks;
  Progress mine = Progress::busy, of_all = Progress::busy;
};

std::string names_of(const std::vector<int>& ranks) {
  std::string names;
  for (const int rank : ranks) names += fmt::format("{}rank {}", names.empty() ? "" : ", ", rank);
  return names;
}

std::span<std::byte> as_message(Progress& word) {
  return std::as_writable_bytes(std::span(&word, 1));
}

/// The root receives the state of every rank, then sends the result to all.
void ask_all(comm::Messages& messages, int ranks, const std::shared_ptr<Words>& words) {
  words->of_ranks.assign(static_cast<std::size_t>(ranks - 1), Progress::busy);
  for (int rank = 1; rank < ranks; ++rank)
    messages.receive(rank, as_message(words->of_ranks[static_cast<std::size_t>(rank - 1)]));
  messages.wait(names_of, comm::Wait::Limit::as_set, words);
  words->of_all =
      std::min(words->mine, *std::min_element(words->of_ranks.begin(), words->of_ranks.end()));
  for (int rank = 1; rank < ranks; ++rank) messages.send(rank, as_message(words->of_all));
  messages.wait(names_of, comm::Wait::Limit::as_set, words);
}

/// The others wait longer: the root, which waits for the same rank as they do, can name it.
void ask_root(comm::Messages& messages, const std::shared_ptr<Words>& words) {
  messages.send(root, as_message(words->mine));
  messages.receive(root, as_message(words->of_all));
  messages.wait([](const std::vector<int>&) { return names_of({root}); }, comm::Wait::Limit::twice,
                words);
}

/// Collective.
Progress agree(const Communicator& communicator, int tag, Progress mine) {
  comm::Messages messages(communicator, tag, "file, disks");
  const auto words = std::make_shared<Words>();
  words->mine = mine;
  if (communicator.rank() == root)
    ask_all(messages, communicator.size(), words);
  else
    ask_root(messages, words);
  return words->of_all;
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
  const bool is_alone = communicator_.size() == 1;
  const auto interval = interval_of(communicator_);
  Progress mine = Progress::busy;
  for (;;) {
    if (is_alone) result_.wait();
    if (mine == Progress::busy && result_.wait_for(interval) == std::future_status::ready) {
      end.error = result_.get();
      mine = end.error == 0 ? Progress::done : Progress::failed;
    }
    const Progress all = is_alone ? mine : agree(communicator_, tag_, mine);
    if (all == Progress::busy) continue;
    end.on_all = all == Progress::done;
    return end;
  }
}

}  // namespace halocline::files
