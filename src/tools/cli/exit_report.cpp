// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include <halocline/error.hpp>

#include "cli/exit_code.hpp"
#include "cli/print.hpp"

namespace halocline::cli {
namespace {

constexpr std::string_view start_word = "--started-as=";
constexpr std::string_view by_a_library = " by a library";

std::optional<Start> our_start;
std::atomic<bool> is_first_rank{false};
std::atomic<const char*> current_stage{""};
// The guarded process; children forked by libraries are not guarded.
std::atomic<pid_t> guarded{0};

/// Prints the report and the text at once, so that the launcher cannot end this process between
/// them.
void print_report(int code, std::string_view how, const std::string& text) {
  const std::string line =
      our_start ? fmt::format("{}{}{}\n", mark_of(*our_start), code, how) : std::string();
  print_error_after(line, text);
}

/// Called when a library ends this process.
void report_library_exit() {
  if (guarded != ::getpid()) return;
  guarded = 0;
  const std::string_view stage = current_stage.load();
  print_report(
      exit_failure, by_a_library,
      fmt::format("{} ended this process: its own output is above; 'halocline doctor' looks for "
                  "the cause",
                  stage.empty() ? "a library" : stage));
  ::syscall(SYS_exit_group, exit_failure);
}

}  // namespace

Start new_start(int ranks) {
  // std::random_device of a libstdc++ that is linked in needs a newer libc than all else.
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    throw Error(ErrorKind::resource, "the system gave no random number");
  return {ranks, number};
}

std::string mark_of(const Start& start) {
  return fmt::format("halocline-rank-ended-{:016x}: ", start.number);
}

std::string word_of(const Start& start) {
  return fmt::format("{}{},{}", start_word, start.ranks, start.number);
}

void take_start(std::vector<std::string>& words) {
  if (words.empty() || !words[0].starts_with(start_word)) return;
  const std::string word = words[0].substr(start_word.size());
  words.erase(words.begin());
  Start found;
  const char* const end = word.data() + word.size();
  const auto [comma, error] = std::from_chars(word.data(), end, found.ranks);
  if (error == std::errc{} && comma != end &&
      std::from_chars(comma + 1, end, found.number).ec == std::errc{})
    our_start = found;
}

const std::optional<Start>& start_of_this_rank() { return our_start; }

void report_begin() {
  if (our_start) print_error_after(mark_of(*our_start) + "begins\n", "");
}

void guard_exit() {
  guarded = ::getpid();
  std::atexit(report_library_exit);
}

void set_stage(const char* stage) { current_stage = stage; }

void set_rank(int rank) { is_first_rank = rank == 0; }

int report_exit(int code) {
  guarded = 0;
  if (our_start && (code != exit_ok || is_first_rank)) print_report(code, "", "");
  return code;
}

int report_exit(int code, const std::string& text) {
  guarded = 0;
  print_report(code, "", text);
  return code;
}

ExitReports read_exit_reports(const std::vector<std::string>& lines) {
  ExitReports reports;
  for (const std::string& line : lines) {
    int code = 0;
    const char* const end = line.data() + line.size();
    const auto [rest, error] = std::from_chars(line.data(), end, code);
    if (error != std::errc{}) continue;
    reports.code = std::max(reports.code.value_or(exit_ok), code);
    if (std::string_view(rest, end) == by_a_library) reports.by_a_library = true;
  }
  return reports;
}

}  // namespace halocline::cli

// Open MPI calls this function if MPI_Init fails, which bypasses handlers of exit().
extern "C" __attribute__((visibility("default"))) void _exit(int code) {
  halocline::cli::report_library_exit();
  for (;;) ::syscall(SYS_exit_group, code);
}
