// SPDX-License-Identifier: Apache-2.0
// Uses an installed Halocline in a program that has a communicator already.

#include <halocline/mpi.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int ranks = halocline::from_mpi(MPI_COMM_WORLD).size();
  MPI_Finalize();
  return ranks == 1 ? 0 : 1;
}
