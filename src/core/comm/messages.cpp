// SPDX-License-Identifier: Apache-2.0
#include "comm/messages.hpp"

#include "base/checked.hpp"
#include "comm/gate.hpp"

namespace halocline::comm {

int next_tag(const Communicator& communicator) { return communicator.state().next_tag(); }

struct Messages::InFlight {
  Communicator communicator;
  int tag;
  const char* site;
  std::vector<int> ranks = {};
  std::vector<MPI_Request> requests = {};

  /// `call` is MPI_Irecv or one of its counterparts.
  template <class Call, class Byte>
  void post_one(Call&& call, int rank, std::span<Byte> bytes) {
    State& state = communicator.state();
    ranks.push_back(rank);
    requests.push_back(MPI_REQUEST_NULL);
    post(state, site, static_cast<std::int64_t>(bytes.size()), [&] {
      return call(bytes.data(), checked_cast<int>(bytes.size()), MPI_BYTE, rank, tag, state.all(),
                  &requests.back());
    });
  }
};

Messages::Messages(const Communicator& communicator, int tag, const char* site)
    : in_flight_(std::make_unique<InFlight>(InFlight{communicator, tag, site})) {}
Messages::~Messages() = default;
Messages::Messages(Messages&&) noexcept = default;
Messages& Messages::operator=(Messages&&) noexcept = default;

void Messages::receive(int from, std::span<std::byte> bytes) {
  in_flight_->post_one(MPI_Irecv, from, bytes);
}

void Messages::send(int to, std::span<const std::byte> bytes) {
  in_flight_->post_one(MPI_Isend, to, bytes);
}

void Messages::send_when_received(int to, std::span<const std::byte> bytes) {
  in_flight_->post_one(MPI_Issend, to, bytes);
}

std::vector<int> Messages::missing() const {
  std::vector<int> ranks;
  for (std::size_t m = 0; m < in_flight_->requests.size(); ++m) {
    int done = 0;
    MPI_Request_get_status(in_flight_->requests[m], &done, MPI_STATUS_IGNORE);
    if (done == 0) ranks.push_back(in_flight_->ranks[m]);
  }
  return ranks;
}

void Messages::wait(const std::function<std::string(const std::vector<int>&)>& name,
                    Wait::Limit limit, std::shared_ptr<const void> memory) {
  wait_all(in_flight_->communicator.state(), in_flight_->requests,
           {.site = in_flight_->site,
            .phase = Phase::other,
            .missing =
                [&] {
                  const std::vector<int> ranks = missing();
                  return ranks.empty() ? std::string() : name(ranks);
                },
            .limit = limit},
           std::move(memory));
  in_flight_->ranks.clear();
  in_flight_->requests.clear();
}

}  // namespace halocline::comm
