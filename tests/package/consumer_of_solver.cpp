// SPDX-License-Identifier: Apache-2.0
// Uses the solver of an installed Halocline, which is a library of its own.

#include <string>

#include <halocline/communicator.hpp>
#include <halocline/solver.hpp>

int main() {
  const halocline::Runtime runtime;
  halocline::SolveOptions options;
  options.problem = "laplace";
  options.cells = {256, 128};
  options.backend = "cpu";
  const halocline::SolveResult result = solve(halocline::Communicator::world(), options);
  if (text_of(result).find("528098ec285fe4a5") == std::string::npos) return 2;
  if (json_of(result).find("\"checksum\": \"528098ec285fe4a5\"") == std::string::npos) return 3;
  return result.sweeps == 199 && result.checksum == 0x528098ec285fe4a5 ? 0 : 1;
}
