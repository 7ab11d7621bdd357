// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether MPI is running: calls before MPI_Init or after MPI_Finalize end the program.

namespace halocline::comm {

enum class MpiPhase { before, running, over };

/// Asks MPI itself, since a program may start and end it without Halocline.
MpiPhase mpi_phase();

/// Throws usage, with what to do, unless MPI is running.
void require_mpi();

/// Throws unavailable if the program runs an MPI of the other family than this library was compiled
/// with: they share the names of functions, but no handle. Call it before the first handle is used.
void require_same_mpi();

}  // namespace halocline::comm
