// SPDX-License-Identifier: Apache-2.0
#include "lab/posted_messages.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "comm/gate.hpp"

namespace halocline::bench {

struct PostedMessages::Requests {
  std::vector<MPI_Request> all;
  std::vector<Clock::time_point> done_at;
  std::vector<int> finished;  // room for MPI_Testsome

  std::size_t add() {
    all.push_back(MPI_REQUEST_NULL);
    done_at.emplace_back();
    finished.emplace_back();
    return all.size() - 1;
  }
};

PostedMessages::PostedMessages(const Communicator& communicator, int lanes,
                               std::shared_ptr<const void> memory)
    : communicator_(communicator),
      memory_(std::move(memory)),
      requests_(std::make_unique<Requests>()) {
  for (int lane = 0; lane < lanes; ++lane) tags_.push_back(communicator.state().next_tag());
}

PostedMessages::~PostedMessages() {
  const auto is_active = [](MPI_Request request) { return request != MPI_REQUEST_NULL; };
  if (std::any_of(requests_->all.begin(), requests_->all.end(), is_active))
    comm::keep_for_mpi(memory_);
}

std::size_t PostedMessages::send(int to, int lane, std::span<const std::byte> bytes) {
  const std::size_t message = requests_->add();
  comm::check(MPI_Isend(bytes.data(), checked_cast<int>(bytes.size()), MPI_BYTE, to,
                        tags_[static_cast<std::size_t>(lane)], communicator_.state().all(),
                        &requests_->all[message]),
              "MPI_Isend");
  return message;
}

std::size_t PostedMessages::receive(int from, int lane, std::span<std::byte> bytes) {
  const std::size_t message = requests_->add();
  comm::check(MPI_Irecv(bytes.data(), checked_cast<int>(bytes.size()), MPI_BYTE, from,
                        tags_[static_cast<std::size_t>(lane)], communicator_.state().all(),
                        &requests_->all[message]),
              "MPI_Irecv");
  return message;
}

bool PostedMessages::done(std::size_t message) {
  if (requests_->all[message] == MPI_REQUEST_NULL) return true;
  int done = 0;
  comm::check(MPI_Test(&requests_->all[message], &done, MPI_STATUS_IGNORE), "MPI_Test");
  if (done != 0) requests_->done_at[message] = Clock::now();
  return done != 0;
}

bool PostedMessages::all_done() {
  int count = 0;
  comm::check(MPI_Testsome(static_cast<int>(requests_->all.size()), requests_->all.data(), &count,
                           requests_->finished.data(), MPI_STATUSES_IGNORE),
              "MPI_Testsome");
  if (count == MPI_UNDEFINED) return true;
  const auto now = Clock::now();
  for (int i = 0; i < count; ++i)
    requests_->done_at[static_cast<std::size_t>(requests_->finished[static_cast<std::size_t>(i)])] =
        now;
  return std::all_of(requests_->all.begin(), requests_->all.end(),
                     [](MPI_Request request) { return request == MPI_REQUEST_NULL; });
}

Clock::time_point PostedMessages::done_at(std::size_t message) const {
  return requests_->done_at[message];
}

void PostedMessages::clear() {
  requests_->all.clear();
  requests_->done_at.clear();
  requests_->finished.clear();
}

}  // namespace halocline::bench
