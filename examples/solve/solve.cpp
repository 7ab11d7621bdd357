// SPDX-License-Identifier: Apache-2.0
// A built-in problem from a program of your own, and its result as the command prints it.
#include <cstdio>

#include <halocline/communicator.hpp>
#include <halocline/error.hpp>
#include <halocline/solver.hpp>

int main(int argc, char** argv) {
  using namespace halocline;
  Runtime runtime;
  const Communicator world = Communicator::world();
  try {
    SolveOptions options;
    options.problem = argc > 1 ? argv[1] : "laplace";
    options.cells = {256, 128};
    options.backend = "cpu";
    options.precision = Precision::f64;
    options.norm = Norm::max;
    options.tolerance = 0.05;
    const SolveResult result = solve(world, options);
    if (world.rank() == 0) std::fputs(text_of(result).c_str(), stdout);  // json_of: for programs
    return result.converged ? 0 : 1;
  } catch (const Error& error) {
    if (world.rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    return error.kind() == ErrorKind::usage ? 2 : 4;
  }
}
