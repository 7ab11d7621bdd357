// SPDX-License-Identifier: Apache-2.0
#include "support/faults.hpp"

#include <mpi.h>

namespace {

int faults = 0;

}  // namespace

// Stands before MPI's own, which stays to be had by its profiling name.
extern "C" int MPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                                       void* baseptr, MPI_Win* win) {
  if (faults > 0) return MPI_ERR_NO_MEM;
  return PMPI_Win_allocate_shared(size, disp_unit, info, comm, baseptr, win);
}

namespace halocline::test {

NoSharedMemory::NoSharedMemory() { ++faults; }
NoSharedMemory::~NoSharedMemory() { --faults; }

}  // namespace halocline::test
