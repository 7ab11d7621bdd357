// SPDX-License-Identifier: Apache-2.0
// A blocking send and its receive: when a call returns, its buffer is free again.
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdio>

int main(int argc, char** argv) {
  alarm(60);  // nothing here runs for longer
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) {
    std::fprintf(stderr, "blocking: needs a rank to send and one to receive: start 2 or more\n");
    MPI_Finalize();
    return 2;
  }
  constexpr int count = 10, tag = 1;
  std::array<float, count> values{};
  if (rank == 0) {
    for (int i = 0; i < count; ++i)
      values[static_cast<std::size_t>(i)] = 4.0F * static_cast<float>(i);
    MPI_Send(values.data(), count, MPI_FLOAT, 1, tag, MPI_COMM_WORLD);
    values.fill(-1);  // no harm: the message has left, or MPI keeps a copy
  } else if (rank == 1) {
    MPI_Status status;
    MPI_Recv(values.data(), count, MPI_FLOAT, 0, tag, MPI_COMM_WORLD, &status);
    int came;
    MPI_Get_count(&status, MPI_FLOAT, &came);
    for (int i = 0; i < came; ++i)
      std::printf("value %d is %.1f\n", i, values[static_cast<std::size_t>(i)]);
  }
  MPI_Finalize();
}
