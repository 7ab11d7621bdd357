// SPDX-License-Identifier: Apache-2.0
#include "proof/crash_words.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

namespace halocline::proof {
namespace {

constexpr int fatal_signals[] = {SIGSEGV, SIGBUS};

// A signal handler gets no arguments from us and must not allocate.
std::array<char, 1024> last_words;
std::atomic<std::size_t> length{0};
std::array<struct sigaction, std::size(fatal_signals)> before;

extern "C" void halocline_say_last_words(int signal) {
  // Ignores a write that fails.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, last_words.data(), length);
  for (std::size_t i = 0; i < std::size(fatal_signals); ++i)
    if (fatal_signals[i] == signal) ::sigaction(signal, &before[i], nullptr);
  // Returns to the faulting instruction, which now meets the previous handler.
}

}  // namespace

CrashWords::CrashWords(const std::string& words) {
  length = std::min(words.size(), last_words.size());
  std::memcpy(last_words.data(), words.data(), length);
  struct sigaction action {};
  action.sa_handler = halocline_say_last_words;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < std::size(fatal_signals); ++i)
    ::sigaction(fatal_signals[i], &action, &before[i]);
}

CrashWords::~CrashWords() {
  for (std::size_t i = 0; i < std::size(fatal_signals); ++i)
    ::sigaction(fatal_signals[i], &before[i], nullptr);
}

}  // namespace halocline::proof
