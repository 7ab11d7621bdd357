// SPDX-License-Identifier: Apache-2.0
#include "launch/interrupts.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include <fmt/core.h>

#include "launch/child.hpp"

namespace halocline {
namespace {

constexpr int ending_signals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU};

// Global, as a signal handler takes no further arguments.
std::atomic<int> event_pipe{-1};
std::atomic<int> first_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void halocline_note_signal(int signal) {
  const int saved = errno;
  int none = 0;
  if (signal != SIGTSTP) first_signal.compare_exchange_strong(none, signal);
  const auto event = static_cast<unsigned char>(signal);
  const int descriptor = event_pipe.load();
  // If the pipe is full, it holds enough signals.
  while (descriptor >= 0 && ::write(descriptor, &event, 1) < 0 && errno == EINTR) {
  }
  errno = saved;
}

/// The handlers and the pipe of the outermost Interrupts.
struct Watch {
  Pipe events = make_pipe();
  std::vector<std::pair<int, struct sigaction>> before;

  Watch() {
    for (const int end : {events.read.get(), events.write.get()}) ::fcntl(end, F_SETFL, O_NONBLOCK);
    first_signal = 0;
    event_pipe = events.write.get();
    for (const int signal : ending_signals) take(signal, halocline_note_signal);
    take(SIGTSTP, halocline_note_signal);
    take(SIGPIPE, SIG_IGN);
  }
  ~Watch() {
    for (const auto& [signal, action] : before) ::sigaction(signal, &action, nullptr);
    event_pipe = -1;
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void take(int signal, void (*handler)(int)) {
    struct sigaction old {};
    ::sigaction(signal, nullptr, &old);
    if (old.sa_handler == SIG_IGN) return;
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
    before.emplace_back(signal, old);
  }
};

std::mutex mutex;
int depth = 0;
std::optional<Watch> watch;

}  // namespace

Interrupts::Interrupts() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (depth == 0) watch.emplace();
  ++depth;
}

Interrupts::~Interrupts() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (--depth == 0) watch.reset();
}

std::optional<int> Interrupts::first() {
  const int signal = first_signal.load();
  return signal == 0 ? std::nullopt : std::optional<int>(signal);
}

int Interrupts::descriptor() { return watch->events.read.get(); }

std::optional<int> Interrupts::next() {
  unsigned char event = 0;
  if (::read(watch->events.read.get(), &event, 1) != 1) return std::nullopt;
  return event;
}

std::vector<int> Interrupts::watched() {
  std::vector<int> signals;
  for (const auto& [signal, action] : watch->before) signals.push_back(signal);
  return signals;
}

std::string signal_in_words(int signal) {
  return fmt::format("signal {} ({})", signal, ::strsignal(signal));
}

}  // namespace halocline
