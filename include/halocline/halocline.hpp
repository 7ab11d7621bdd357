// SPDX-License-Identifier: Apache-2.0
#pragma once
// All public headers of libhalocline except mpi.hpp, which needs mpi.h. solver.hpp, checkpoint.hpp
// and npy.hpp belong to libhalocline_solver.
//
// Threads. Only one thread at a time may be inside Halocline, whichever objects it uses: nothing is
// locked, and a wait of one exchange advances the exchanges of all communicators.
// - Call functions that communicate from a thread that MPI allows: with MPI_THREAD_FUNNELED, which
//   Runtime asks for, the thread that initialised MPI; with MPI_THREAD_SERIALIZED or
//   MPI_THREAD_MULTIPLE any thread. These are all functions that take a Communicator, and all
//   members and destructors of Communicator, Exchange and LevelExchange.
// - A thread that uses fields in GPU memory must have made that GPU current (cudaSetDevice);
//   bind_gpu does so for the thread that calls it.
// - Any thread may read a Grid, a Box or an ExchangeInfo at any time, and read and write values
//   through Field and FieldView; the program orders accesses to the same cells. So all threads of a
//   parallel region may update cells while one of them calls Halocline.
// The threads that Halocline starts (OpenMP threads for sweeps, one that hands out shared memory)
// do not call MPI.

#include <halocline/array.hpp>
#include <halocline/box.hpp>
#include <halocline/brick_view.hpp>
#include <halocline/communicator.hpp>
#include <halocline/error.hpp>
#include <halocline/exchange.hpp>
#include <halocline/field.hpp>
#include <halocline/field_view.hpp>
#include <halocline/gpu.hpp>
#include <halocline/grid.hpp>
#include <halocline/measure.hpp>
#include <halocline/memory.hpp>
#include <halocline/mpi_fortran.hpp>
#include <halocline/norm.hpp>
#include <halocline/precision.hpp>
#include <halocline/program_report.hpp>
#include <halocline/run_result.hpp>
#include <halocline/stream.hpp>
