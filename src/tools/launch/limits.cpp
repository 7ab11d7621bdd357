// SPDX-License-Identifier: Apache-2.0
#include "launch/limits.hpp"

#include <fmt/core.h>
#include <sys/resource.h>

namespace halocline {
namespace {

template <class Resource>
std::optional<std::int64_t> limit_on(Resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

std::string text_of(const std::optional<std::int64_t>& limit) {
  return limit ? fmt::format("at most {}", *limit) : "unlimited";
}

}  // namespace

ProcessLimits process_limits() {
  return {.open_files = limit_on(RLIMIT_NOFILE),
          .processes = limit_on(RLIMIT_NPROC),
          .address_bytes = limit_on(RLIMIT_AS),
          .file_bytes = limit_on(RLIMIT_FSIZE),
          .cpu_seconds = limit_on(RLIMIT_CPU)};
}

std::string words_for(const ProcessLimits& limits) {
  return fmt::format("open files: {} (ulimit -n), processes: {} (ulimit -u)",
                     text_of(limits.open_files), text_of(limits.processes));
}

}  // namespace halocline
