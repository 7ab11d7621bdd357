// SPDX-License-Identifier: Apache-2.0
#include "cli/print.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/files/temporary_file.hpp"
#include "cli/flags.hpp"
#include "files/attempts.hpp"
#include "report/render.hpp"

namespace halocline::cli {

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return;
  throw Error(ErrorKind::resource,
              fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

void print_error(const std::string& text) { print_error_after("", text); }

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // In UTF-8 the control characters above ASCII are C2 80 to C2 9F.
    const bool is_c1 = byte == 0xc2 && i + 1 < text.size() &&
                       (static_cast<unsigned char>(text[i + 1]) & 0xe0) == 0x80;
    if (is_c1)
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    else if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += text[i];
  }
  return result;
}

void print_error_after(const std::string& before, const std::string& text) {
  std::string all = before;
  if (!text.empty()) all += fmt::format("halocline: {}\n", printable(with_flags(text)));
  std::fputs(all.c_str(), stderr);
  std::fflush(stderr);
}

void print_note(const std::string& text) {
  std::fprintf(stderr, "note: %s\n", printable(with_flags(text)).c_str());
  std::fflush(stderr);
}

void add_report(RunFiles& files, const std::optional<std::string>& json) {
  if (json != "-") files.add_result("--json", json);
}

void write_report(const Report& report, const std::optional<std::string>& json, Text text) {
  if (json == "-") return print(with_flags(render_json(report)));
  Attempts attempts;
  if (text == Text::shown)
    attempts.attempt([&] { print(with_flags(printable(render_text(report)))); });
  if (json)
    attempts.attempt([&] {
      write_text_file(*json, with_flags(render_json(report)), Otherwise::use_working_folder);
    });
  attempts.finish();
}

}  // namespace halocline::cli
