// SPDX-License-Identifier: Apache-2.0
// Non-blocking messages around a ring: post all, work, then wait for all.
#include <mpi.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

int main(int argc, char** argv) {
  alarm(60);  // nothing here runs for longer
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks, tag = 1;

  const int sent = 1024 + rank;
  int came = -1;
  MPI_Request requests[2];
  MPI_Irecv(&came, 1, MPI_INT, previous, tag, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&sent, 1, MPI_INT, next, tag, MPI_COMM_WORLD, &requests[1]);
  // Neither `sent` may be written nor `came` be read before the wait; other work may go on.
  double work = 0;
  for (int i = 1; i <= 1000; ++i) work += 1 / std::pow(2.0, i);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

  std::printf("rank %d sent %d, got %d, and came to %.1f meanwhile\n", rank, sent, came, work);
  MPI_Finalize();
  return came == 1024 + previous ? 0 : 1;
}
