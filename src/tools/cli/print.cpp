// SPDX-License-Identifier: Apache-2.0
#include "cli/print.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/temporary_file.hpp"
#include "cli/flags.hpp"
#include "report/render.hpp"

namespace halocline::cli {

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return;
  throw Error(ErrorKind::resource,
              fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

void complain(const std::string& text) { complain_after("", text); }

void complain_after(const std::string& before, const std::string& text) {
  std::string all = before;
  if (!text.empty()) all += fmt::format("halocline: {}\n", with_flags(text));
  std::fputs(all.c_str(), stderr);
  std::fflush(stderr);
}

void remark(const std::string& text) {
  std::fprintf(stderr, "note: %s\n", with_flags(text).c_str());
  std::fflush(stderr);
}

void write_report(const Report& report, const std::optional<std::string>& json, Text text) {
  if (json == "-") return print(with_flags(render_json(report)));
  if (text == Text::shown) print(with_flags(render_text(report)));
  if (json) write_text_file(*json, with_flags(render_json(report)));
}

}  // namespace halocline::cli
