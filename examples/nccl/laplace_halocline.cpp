// SPDX-License-Identifier: Apache-2.0
// The case of laplace_nccl and laplace_nvshmem by Halocline: a built-in problem, so that there is
// no exchange to write.
#include <unistd.h>

#include <halocline/error.hpp>
#include <halocline/mpi.hpp>
#include <halocline/solver.hpp>

#include "../laplace.hpp"

static int solve(const laplace::Case& given) {
  using namespace halocline;
  SolveOptions options;
  options.problem = "laplace";
  options.cells = {given.cells, given.cells};
  options.precision = Precision::f32;
  options.norm = Norm::max;
  options.tolerance = 0;  // all sweeps
  options.sweeps = given.sweeps;
  const SolveResult result = solve(from_mpi(MPI_COMM_WORLD), options);

  const laplace::Result right = laplace::serial(given);
  long long wrong = result.checksum != laplace::checksum(given, right.level);
  for (const auto& [sweep, norm] : result.norm_history)
    wrong += norm != static_cast<double>(right.norms[static_cast<std::size_t>(sweep)]);
  laplace::Result done{"Halocline, " + result.backend, 0, {}, {}};
  done.seconds = result.first_sweep_seconds + result.loop_seconds;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return laplace::report(given, right, {{done, rank == 0 ? wrong : 0}});
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  alarm(60);  // nothing here runs for longer
  int code = 4;
  try {
    code = solve(laplace::read_case(argc, argv));
  } catch (const halocline::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  MPI_Finalize();
  return code;
}
