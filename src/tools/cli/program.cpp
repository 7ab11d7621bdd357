// SPDX-License-Identifier: Apache-2.0
#include "cli/program.hpp"

#include <fcntl.h>

#include <exception>

#include <halocline/error.hpp>

#include "cli/examine_command.hpp"
#include "cli/exit_code.hpp"
#include "cli/exit_report.hpp"
#include "cli/print.hpp"
#include "cli/signals.hpp"

namespace halocline::cli {
namespace {

/// Opens closed standard streams, so that files opened later, such as MPI's pipes, do not take
/// their descriptors. Writing to them remains an error.
void fill_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream)
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDONLY);
}

}  // namespace

int run_program(int argc, char** argv, int (*run)(const std::vector<std::string>& words)) {
  fill_standard_streams();
  std::vector<std::string> words(argv + 1, argv + argc);
  take_start(words);
  guard_exit();
  try {
    let_large_files_be_errors();
    return report_exit(is_examination(words) ? run_examination(words) : run(words));
  } catch (const Error& error) {
    print_error(error.what());
    return report_exit(exit_code(error.kind()));
  } catch (const std::exception& error) {
    print_error(error.what());
    return report_exit(exit_failure);
  }
}

}  // namespace halocline::cli
