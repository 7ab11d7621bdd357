// SPDX-License-Identifier: Apache-2.0
#include "launch/limits.hpp"

#include <fmt/core.h>
#include <sys/resource.h>

namespace halocline {
namespace {

std::optional<std::int64_t> at_most(const rlimit& limit, int error) {
  if (error != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

std::string text_of(const std::optional<std::int64_t>& limit) {
  return limit ? fmt::format("at most {}", *limit) : "unlimited";
}

}  // namespace

ProcessLimits process_limits() {
  rlimit files{}, processes{};
  const int no_files = ::getrlimit(RLIMIT_NOFILE, &files);
  const int no_processes = ::getrlimit(RLIMIT_NPROC, &processes);
  return {at_most(files, no_files), at_most(processes, no_processes)};
}

std::string words_for(const ProcessLimits& limits) {
  return fmt::format("open files: {} (ulimit -n), processes: {} (ulimit -u)",
                     text_of(limits.open_files), text_of(limits.processes));
}

}  // namespace halocline
