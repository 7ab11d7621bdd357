// SPDX-License-Identifier: Apache-2.0
// Synchronous sends that face each other: the deadlock is detected, reported and fixed in two ways.
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <vector>

#include "../whole_number.hpp"

namespace {

constexpr int count = 10, tag = 1;
using Values = std::array<float, count>;

// Ranks in a ring; two of them face each other.
struct Ring {
  int rank, ranks, next, previous;
};

Values values_of(int rank) {
  Values values;
  for (int i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<float>(100 * rank + 4 * i);
  return values;
}

// MPI_Wait with an end: false if the request is not complete after so many seconds.
bool complete_within(double seconds, MPI_Request* request) {
  int complete = 0;
  for (const double end = MPI_Wtime() + seconds; !complete && MPI_Wtime() < end; usleep(100))
    MPI_Test(request, &complete, MPI_STATUS_IGNORE);
  return complete;
}

// Tells, on rank 0, who waits for whom.
void explain(const Ring& ring, bool stuck, long long seconds) {
  const int waits_for = stuck ? ring.next : -1;
  std::vector<int> all(static_cast<std::size_t>(ring.ranks));
  // To all, so that none goes on to its receive while another still waits for its time to be up.
  MPI_Allgather(&waits_for, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  if (ring.rank != 0) return;
  if (all[0] < 0) {
    std::printf("no deadlock\n");
    return;
  }
  std::printf("deadlock: after %lld s rank 0", seconds);
  int at = all[0];  // follow the waits until they come back to rank 0, or end
  for (int steps = 1; at > 0 && steps < ring.ranks; ++steps) {
    std::printf(" waits for rank %d, which", at);
    at = all[static_cast<std::size_t>(at)];
  }
  if (at == 0)
    std::printf(
        " waits for rank 0: a circle.\n"
        "Each waits in a send until its receive is posted, and no rank posts one.\n");
  else
    std::printf(" goes on\n");
}

// MPI_Ssend is MPI_Issend and MPI_Wait. Taken apart, the wait gets a limit.
Values send_first(const Ring& ring, long long seconds) {
  const Values sent = values_of(ring.rank);
  Values came{};
  MPI_Request request;
  MPI_Issend(sent.data(), count, MPI_FLOAT, ring.next, tag, MPI_COMM_WORLD, &request);
  const bool stuck = !complete_within(static_cast<double>(seconds), &request);
  explain(ring, stuck, seconds);
  MPI_Recv(came.data(), count, MPI_FLOAT, ring.previous, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (stuck) MPI_Wait(&request, MPI_STATUS_IGNORE);  // ends now: the receive has come
  return came;
}

// Fix 1: neighbours do not do the same. Even ranks send first, odd ones receive first.
Values in_turns(const Ring& ring) {
  const Values sent = values_of(ring.rank);
  Values came{};
  for (const bool send : {ring.rank % 2 == 0, ring.rank % 2 != 0}) {
    if (send)
      MPI_Ssend(sent.data(), count, MPI_FLOAT, ring.next, tag, MPI_COMM_WORLD);
    else
      MPI_Recv(came.data(), count, MPI_FLOAT, ring.previous, tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  }
  return came;
}

// Fix 2: the send does not block, so everybody comes to the receive.
Values without_blocking(const Ring& ring) {
  const Values sent = values_of(ring.rank);
  Values came{};
  MPI_Request request;
  MPI_Isend(sent.data(), count, MPI_FLOAT, ring.next, tag, MPI_COMM_WORLD, &request);
  MPI_Recv(came.data(), count, MPI_FLOAT, ring.previous, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);  // before `sent` goes
  return came;
}

// Says, on rank 0, whether every rank got what its neighbour sent.
bool tell(const Ring& ring, const char* how, const Values& came) {
  int right = came == values_of(ring.previous);
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (ring.rank == 0) std::printf("%-28s %s\n", how, right ? "all values came" : "WRONG values");
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  alarm(60);  // nothing here runs for longer
  MPI_Init(&argc, &argv);
  Ring ring{};
  MPI_Comm_rank(MPI_COMM_WORLD, &ring.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ring.ranks);
  ring.next = (ring.rank + 1) % ring.ranks;
  ring.previous = (ring.rank + ring.ranks - 1) % ring.ranks;
  const auto seconds = whole_number(argc > 1 ? argv[1] : "1", 1, 30);
  if (ring.ranks < 2 || !seconds) {
    if (ring.rank == 0)
      std::fprintf(stderr, "usage: deadlock [SECONDS], 1 to 30, on 2 or more ranks\n");
    MPI_Finalize();
    return 2;
  }
  bool right = tell(ring, "receives posted too late:", send_first(ring, *seconds));
  right &= tell(ring, "fix 1, taking turns:", in_turns(ring));
  right &= tell(ring, "fix 2, non-blocking sends:", without_blocking(ring));
  MPI_Finalize();
  return right ? 0 : 1;
}
