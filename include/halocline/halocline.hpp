// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything of libhalocline that is public, but for mpi.hpp, which needs mpi.h. solver.hpp is of
// libhalocline_solver.

#include <halocline/array.hpp>
#include <halocline/box.hpp>
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
