// SPDX-License-Identifier: Apache-2.0
#include "mpi/mpi_messages.hpp"

#include <array>
#include <vector>

#include "base/checked.hpp"
#include "comm/gate.hpp"

namespace halocline::mpi {
namespace {

constexpr int tag = 2;  // bulk messages have tag 1, channels tags from 1000

}  // namespace

void mpi_send(const Communicator& communicator, int to, std::span<const std::byte> bytes) {
  comm::State& state = communicator.state();
  comm::block(state, "MPI_Send", [&] {
    return MPI_Send(bytes.data(), checked_cast<int>(bytes.size()), MPI_BYTE, to, tag, state.all());
  });
}

void mpi_receive(const Communicator& communicator, int from, std::span<std::byte> bytes) {
  comm::State& state = communicator.state();
  comm::block(state, "MPI_Recv", [&] {
    return MPI_Recv(bytes.data(), checked_cast<int>(bytes.size()), MPI_BYTE, from, tag, state.all(),
                    MPI_STATUS_IGNORE);
  });
}

void mpi_exchange(const Communicator& communicator, Way way, int peer,
                  std::span<const std::byte> out, std::span<std::byte> in) {
  comm::State& state = communicator.state();
  const MPI_Comm all = state.all();
  const int sent = checked_cast<int>(out.size()), due = checked_cast<int>(in.size());
  if (way == Way::sendrecv)
    return comm::block(state, "MPI_Sendrecv", [&] {
      return MPI_Sendrecv(out.data(), sent, MPI_BYTE, peer, tag, in.data(), due, MPI_BYTE, peer,
                          tag, all, MPI_STATUS_IGNORE);
    });
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (way == Way::posted) {
    comm::check(MPI_Irecv(in.data(), due, MPI_BYTE, peer, tag, all, &requests[0]), "MPI_Irecv");
    comm::check(MPI_Isend(out.data(), sent, MPI_BYTE, peer, tag, all, &requests[1]), "MPI_Isend");
  } else {
    comm::check(MPI_Recv_init(in.data(), due, MPI_BYTE, peer, tag, all, &requests[0]),
                "MPI_Recv_init");
    comm::check(MPI_Send_init(out.data(), sent, MPI_BYTE, peer, tag, all, &requests[1]),
                "MPI_Send_init");
    comm::check(MPI_Startall(2, requests.data()), "MPI_Startall");
  }
  comm::block(state, way == Way::posted ? "MPI_Isend and MPI_Irecv" : "MPI_Startall",
              [&] { return MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE); });
  if (way == Way::persistent)
    for (MPI_Request& request : requests)
      comm::check(MPI_Request_free(&request), "MPI_Request_free");
}

void mpi_allreduce(const Communicator& communicator, const double* mine, double* sums,
                   std::int64_t count) {
  comm::State& state = communicator.state();
  comm::block(state, "MPI_Allreduce", [&] {
    return MPI_Allreduce(mine, sums, checked_cast<int>(count), MPI_DOUBLE, MPI_SUM, state.all());
  });
}

void mpi_broadcast(const Communicator& communicator, void* memory, std::int64_t bytes, int root) {
  comm::State& state = communicator.state();
  comm::block(state, "MPI_Bcast", [&] {
    return MPI_Bcast(memory, checked_cast<int>(bytes), MPI_BYTE, root, state.all());
  });
}

void mpi_allgather(const Communicator& communicator, const void* mine, void* all,
                   std::int64_t bytes) {
  comm::State& state = communicator.state();
  const int count = checked_cast<int>(bytes);
  comm::block(state, "MPI_Allgather", [&] {
    return MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, state.all());
  });
}

struct PlainPair::Inside {
  Inside(const Communicator& whole, const Options& wanted)
      : communicator(whole), options(wanted), count(checked_cast<int>(wanted.bytes)) {}

  comm::Watchdog& watchdog() const { return communicator.state().watchdog(); }
  MPI_Comm all() const { return communicator.state().all(); }
  void send() const {
    comm::check(MPI_Send(options.out, count, MPI_BYTE, options.peer, tag, all()), "MPI_Send");
  }
  void receive() const {
    comm::check(MPI_Recv(options.in, count, MPI_BYTE, options.peer, tag, all(), MPI_STATUS_IGNORE),
                "MPI_Recv");
  }
  void post_receives(std::int64_t messages) {
    for (std::int64_t i = 0; i < messages; ++i)
      comm::check(MPI_Irecv(options.in, count, MPI_BYTE, options.peer, tag, all(), next()),
                  "MPI_Irecv");
  }
  void post_sends(std::int64_t messages) {
    for (std::int64_t i = 0; i < messages; ++i)
      comm::check(MPI_Isend(options.out, count, MPI_BYTE, options.peer, tag, all(), next()),
                  "MPI_Isend");
  }
  MPI_Request* next() { return &requests.emplace_back(MPI_REQUEST_NULL); }
  void wait() {
    comm::check(
        MPI_Waitall(checked_cast<int>(std::ssize(requests)), requests.data(), MPI_STATUSES_IGNORE),
        "MPI_Waitall");
    requests.clear();
  }

  Communicator communicator;
  Options options;
  int count;
  std::vector<MPI_Request> requests{};
  std::array<std::byte, 4> answer{};
};

PlainPair::PlainPair(const Communicator& communicator, const Options& options)
    : inside_(std::make_unique<Inside>(communicator, options)) {}

PlainPair::~PlainPair() = default;

void PlainPair::round_trips(std::int64_t count) {
  const comm::Watchdog::Guard guard(inside_->watchdog(), "MPI_Send or MPI_Recv");
  for (std::int64_t i = 0; i < count; ++i) {
    if (inside_->options.turn == Turn::first) {
      inside_->send();
      inside_->receive();
    } else {
      inside_->receive();
      inside_->send();
    }
  }
}

void PlainPair::one_way(std::int64_t count) {
  Inside& p = *inside_;
  const comm::Watchdog::Guard guard(p.watchdog(), "MPI_Send or MPI_Recv");
  const auto bytes = static_cast<int>(p.answer.size());
  if (p.options.turn == Turn::first) {
    p.post_sends(count);
    p.wait();
    comm::check(
        MPI_Recv(p.answer.data(), bytes, MPI_BYTE, p.options.peer, tag, p.all(), MPI_STATUS_IGNORE),
        "MPI_Recv");
  } else {
    p.post_receives(count);
    p.wait();
    comm::check(MPI_Send(p.answer.data(), bytes, MPI_BYTE, p.options.peer, tag, p.all()),
                "MPI_Send");
  }
}

void PlainPair::both_ways(std::int64_t count) {
  Inside& p = *inside_;
  const comm::Watchdog::Guard guard(p.watchdog(), "MPI_Send or MPI_Recv");
  p.post_receives(count);
  p.post_sends(count);
  p.wait();
}

}  // namespace halocline::mpi
