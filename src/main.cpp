// SPDX-License-Identifier: Apache-2.0
// halocline: the command.

#include <string>
#include <vector>

#include "cli/benchmark.hpp"
#include "cli/command_line.hpp"
#include "cli/doctor_command.hpp"
#include "cli/exit_code.hpp"
#include "cli/print.hpp"
#include "cli/program.hpp"
#include "cli/solve_command.hpp"

namespace {

using namespace halocline;

int run(const std::vector<std::string>& words) {
  const cli::CommandLine line = cli::read_command_line(words);
  if (line.solve) return cli::run_solve(*line.solve, words);
  if (line.bench) return cli::run_bench(*line.bench, words);
  if (line.plan) return cli::run_plan(*line.plan);
  if (line.doctor) return cli::run_doctor(*line.doctor);
  cli::print(line.text);
  return cli::exit_ok;
}

}  // namespace

int main(int argc, char** argv) { return cli::run_program(argc, argv, run); }
