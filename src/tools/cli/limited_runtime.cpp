// SPDX-License-Identifier: Apache-2.0
#include "cli/limited_runtime.hpp"

#include <chrono>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "base/process/launched.hpp"
#include "cli/exit_code.hpp"
#include "cli/exit_report.hpp"
#include "comm/watchdog.hpp"

namespace halocline::cli {

LimitedRuntime::LimitedRuntime(double limit_seconds, Calls calls) : limit_seconds_(limit_seconds) {
  set_stage("MPI_Init");
  if (calls == Calls::from_any_thread) threaded_.emplace();
  runtime_.emplace();
  set_stage("");
}

LimitedRuntime::~LimitedRuntime() {
  comm::Watchdog& watchdog = comm::Watchdog::of_end();
  watchdog.set_handler(
      [](const std::string& text) {
        const std::optional<Launched> launched = launched_by(current_variables());
        const std::string rank =
            launched && launched->rank ? fmt::format("rank {}: ", *launched->rank) : "";
        std::_Exit(report_exit(exit_failure,
                               fmt::format("{}{}; this rank had finished its work", rank, text)));
      },
      std::chrono::duration<double>(limit_seconds_));
  const comm::Watchdog::Guard guard(watchdog, "MPI_Finalize");
  set_stage("MPI_Finalize");
  runtime_.reset();
  threaded_.reset();
  set_stage("");
}

}  // namespace halocline::cli
