// SPDX-License-Identifier: Apache-2.0
// A block of bytes from every rank, passed around a ring until each is back.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "../whole_number.hpp"

namespace {

// What byte `i` of the block of `rank` is.
unsigned char byte_of(int rank, std::size_t i) {
  return static_cast<unsigned char>((static_cast<std::size_t>(rank) * 131 + i * 7 + i / 256) % 251);
}

bool is_block_of(int rank, const std::vector<unsigned char>& block) {
  for (std::size_t i = 0; i < block.size(); ++i)
    if (block[i] != byte_of(rank, i)) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  alarm(60);  // nothing here runs for longer
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto bytes = whole_number(argc > 1 ? argv[1] : "1000000", 1, 1 << 30);
  if (!bytes) {
    if (rank == 0)
      std::fprintf(stderr, "ring: bytes are a whole number from 1 to 2^30, not '%s'\n", argv[1]);
    MPI_Finalize();
    return 2;
  }
  const int count = static_cast<int>(*bytes);
  std::vector<unsigned char> block(static_cast<std::size_t>(count)), next(block.size());
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = byte_of(rank, i);

  // Sending and receiving are one call: no order of two calls is right for every size and every
  // number of ranks. With one rank it is a message to itself.
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  int good = 1;
  for (int step = 1; step <= ranks; ++step) {
    MPI_Sendrecv(block.data(), count, MPI_BYTE, right, 0, next.data(), count, MPI_BYTE, left, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::swap(block, next);
    good &= is_block_of((rank + ranks - step) % ranks, block);
  }
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("ranks: %d, %d bytes once around: %s\n", ranks, count,
                good ? "every byte right after every step" : "WRONG bytes");
  MPI_Finalize();
  return good ? 0 : 1;
}
