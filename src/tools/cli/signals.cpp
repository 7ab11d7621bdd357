// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/files/temporary_file.hpp"

namespace halocline::cli {
namespace {

struct Named {
  int number;
  const char* line;  // a handler cannot format
};
#define HALOCLINE_TEXT_OF(number) #number
#define HALOCLINE_SIGNAL(number, words) \
  { number, "halocline: ended by signal " HALOCLINE_TEXT_OF(number) " (" words ")\n" }
constexpr std::array<Named, 8> signals{
    {HALOCLINE_SIGNAL(SIGINT, "Interrupt"), HALOCLINE_SIGNAL(SIGTERM, "Terminated"),
     HALOCLINE_SIGNAL(SIGHUP, "Hangup"), HALOCLINE_SIGNAL(SIGQUIT, "Quit"),
     HALOCLINE_SIGNAL(SIGUSR1, "User defined signal 1"),
     HALOCLINE_SIGNAL(SIGUSR2, "User defined signal 2"),
     HALOCLINE_SIGNAL(SIGXCPU, "CPU time limit exceeded"),
     HALOCLINE_SIGNAL(SIGALRM, "Alarm clock")}};
#undef HALOCLINE_SIGNAL
#undef HALOCLINE_TEXT_OF

std::atomic<bool> prints_signal{false};
static_assert(std::atomic<bool>::is_always_lock_free);

/// Waits for a slow reader, but not forever.
bool takes_text(int descriptor) {
  pollfd waited{.fd = descriptor, .events = POLLOUT, .revents = 0};
  return ::poll(&waited, 1, 1000) == 1;
}

extern "C" void halocline_end_by_signal(int signal) {
  remove_temporary_files();
  for (const Named& one : signals)
    if (one.number == signal && prints_signal && takes_text(STDERR_FILENO)) {
      [[maybe_unused]] const ssize_t written =
          ::write(STDERR_FILENO, one.line, std::strlen(one.line));
    }
  // Raises the signal again for its default action. SA_RESETHAND is not enough, since MPICH handles
  // SIGUSR1 and calls this handler from its own.
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// Signals of batch systems and users before they end a process.
constexpr std::array<std::pair<int, const char*>, 6> asking{{{SIGINT, "SIGINT"},
                                                             {SIGTERM, "SIGTERM"},
                                                             {SIGHUP, "SIGHUP"},
                                                             {SIGUSR1, "SIGUSR1"},
                                                             {SIGUSR2, "SIGUSR2"},
                                                             {SIGXCPU, "SIGXCPU"}}};
std::atomic<int> noted_signal{0};
struct sigaction at_second_interrupt {};  // set before its handler

extern "C" void halocline_note_stop_signal(int signal) {
  int none = 0;
  noted_signal.compare_exchange_strong(none, signal);
  if (signal == SIGINT) ::sigaction(SIGINT, &at_second_interrupt, nullptr);
}

}  // namespace

std::string name_of_signal(int signal) {
  for (const auto& [number, name] : asking)
    if (number == signal) return name;
  return "signal " + std::to_string(signal);
}

StopSignals::StopSignals() {
  noted_signal = 0;
  ::sigaction(SIGINT, nullptr, &at_second_interrupt);
  struct sigaction action {};
  action.sa_handler = halocline_note_stop_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (const auto& [number, name] : asking) {
    struct sigaction before {};
    ::sigaction(number, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    ::sigaction(number, &action, nullptr);
    before_.emplace_back(number, before);
  }
}

StopSignals::~StopSignals() {
  for (const auto& [number, before] : before_) ::sigaction(number, &before, nullptr);
}

std::string StopSignals::noted() {
  const int signal = noted_signal;
  return signal == 0 ? "" : name_of_signal(signal);
}

EndingSignals::EndingSignals(Message message) {
  prints_signal = message == Message::printed;
  struct sigaction action {};
  action.sa_handler = halocline_end_by_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a macro of an unsigned number
  // Blocks other signals during the handler.
  ::sigfillset(&action.sa_mask);
  for (const Named& one : signals) replace(one.number, action);
  // A lost reader is an error of writing to it, and must not end the process.
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigemptyset(&ignore.sa_mask);
  replace(SIGPIPE, ignore);
}

void EndingSignals::replace(int signal, const struct sigaction& action) {
  struct sigaction before {};
  ::sigaction(signal, nullptr, &before);
  // Replaces handlers of libraries: UCX would wait for a debugger on SIGHUP.
  if (before.sa_handler == SIG_IGN) return;
  ::sigaction(signal, &action, nullptr);
  before_.emplace_back(signal, before);
}

EndingSignals::~EndingSignals() {
  for (const auto& [number, before] : before_) ::sigaction(number, &before, nullptr);
}

void let_large_files_be_errors() { ::signal(SIGXFSZ, SIG_IGN); }

}  // namespace halocline::cli
