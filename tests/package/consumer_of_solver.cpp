// SPDX-License-Identifier: Apache-2.0
// Uses the solver of an installed Halocline, which is a library of its own.

#include <cstdio>
#include <string>

#include <halocline/communicator.hpp>
#include <halocline/npy.hpp>
#include <halocline/solver.hpp>

bool writes_and_reads_its_own_field() {
  using namespace halocline;
  const Communicator world = Communicator::world();
  const Grid grid(world, {.cells = {5, 3}});
  const Field<float> written(grid), read(grid);
  written(4, 2) = 2.5F;
  write_npy(world, grid, written, "consumer.npy");
  read_npy(world, grid, read, "consumer.npy");
  std::remove("consumer.npy");
  return read(4, 2) == 2.5F && read(0, 0) == 0;
}

int main() {
  const halocline::Runtime runtime;
  if (!writes_and_reads_its_own_field()) return 4;
  halocline::SolveOptions options;
  options.problem = "laplace";
  options.cells = {256, 128};
  options.backend = "cpu";
  const halocline::SolveResult result = solve(halocline::Communicator::world(), options);
  if (text_of(result).find("528098ec285fe4a5") == std::string::npos) return 2;
  if (json_of(result).find("\"checksum\": \"528098ec285fe4a5\"") == std::string::npos) return 3;
  return result.sweeps == 199 && result.checksum == 0x528098ec285fe4a5 ? 0 : 1;
}
