// SPDX-License-Identifier: Apache-2.0
// halocline: the command.

#include <fcntl.h>

#include <exception>
#include <string>
#include <vector>

#include <halocline/error.hpp>

#include "cli/benchmarks.hpp"
#include "cli/command_line.hpp"
#include "cli/departure.hpp"
#include "cli/doctor_command.hpp"
#include "cli/examine_command.hpp"
#include "cli/exit_code.hpp"
#include "cli/print.hpp"
#include "cli/signals.hpp"
#include "cli/solve_command.hpp"

namespace {

using namespace halocline;

int run(const std::vector<std::string>& words) {
  try {
    cli::let_large_files_be_errors();
    if (cli::is_examination(words)) return cli::run_examination(words);
    const cli::CommandLine line = cli::read_command_line(words);
    if (line.solve) return cli::run_solve(*line.solve, words);
    if (line.bench) return cli::run_bench(*line.bench, words);
    if (line.plan) return cli::run_plan(*line.plan);
    if (line.doctor) return cli::run_doctor(*line.doctor);
    cli::print(line.text);
    return cli::exit_ok;
  } catch (const Error& error) {
    cli::complain(error.what());
    return cli::exit_code(error.kind());
  } catch (const std::exception& error) {
    cli::complain(error.what());
    return cli::exit_failure;
  }
}

/// Lets nothing that is opened later, such as a pipe of MPI's, take the place of a standard stream
/// that is closed. Writing there stays an error.
void fill_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream)
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDONLY);
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_streams();
  std::vector<std::string> words(argv + 1, argv + argc);
  cli::take_start(words);
  cli::guard_departure();
  return cli::leave(run(words));
}
