// SPDX-License-Identifier: Apache-2.0
#include "mpi/mpi_collectives.hpp"

#include "base/checked.hpp"
#include "comm/gate.hpp"

namespace halocline::mpi {

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

}  // namespace halocline::mpi
