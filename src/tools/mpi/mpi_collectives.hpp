// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collectives as ordinary programs call them, on whatever memory they have: to show that they work.
// What is agreed in earnest goes through collectives.hpp. All block inside MPI; only a stall
// handler (set_stall_handler()) ends a wait that takes too long.

#include <cstdint>

#include <halocline/communicator.hpp>

namespace halocline::mpi {

/// Adds up `count` numbers of every rank.
void mpi_allreduce(const Communicator& communicator, const double* mine, double* sums,
                   std::int64_t count);
/// Rank `root`'s bytes become everybody's.
void mpi_broadcast(const Communicator& communicator, void* memory, std::int64_t bytes, int root);
/// `bytes` of every rank, in order of rank, become everybody's.
void mpi_allgather(const Communicator& communicator, const void* mine, void* all,
                   std::int64_t bytes);

}  // namespace halocline::mpi
