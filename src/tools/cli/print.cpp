// SPDX-License-Identifier: Apache-2.0
#include "cli/print.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::cli {

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return;
  throw Error(ErrorKind::resource,
              fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

}  // namespace halocline::cli
