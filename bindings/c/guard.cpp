// SPDX-License-Identifier: Apache-2.0
#include "guard.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>

#include <halocline/version.hpp>

namespace halocline::binding {
namespace {

// Of fixed size, so that it works when memory has run out.
thread_local char last_error[2048] = "";

halocline_status status_of_kind(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage:
      return HALOCLINE_USAGE;
    case ErrorKind::unavailable:
      return HALOCLINE_UNAVAILABLE;
    case ErrorKind::resource:
      return HALOCLINE_RESOURCE;
    case ErrorKind::communication:
      return HALOCLINE_COMMUNICATION;
    case ErrorKind::device:
      return HALOCLINE_DEVICE;
    case ErrorKind::internal:
      break;
  }
  return HALOCLINE_INTERNAL;
}

// Identifies the thread by an address of its own: null while none is inside.
std::atomic<const void*> thread_inside = nullptr;
thread_local const char this_thread = 0;
std::atomic<bool> is_forked = false;

}  // namespace

void refuse_forks() {
  // From the first call on: a process may fork before, and its children begin.
  static const int watches_forks = pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
  static_cast<void>(watches_forks);
  if (is_forked)
    throw Error(ErrorKind::usage,
                "this process was forked from one that uses Halocline, and MPI and GPUs do not "
                "work in it; start processes before the first call, or as ranks with mpiexec");
}

Inside::Inside() {
  refuse_forks();
  const void* inside = nullptr;
  is_outermost_ = thread_inside.compare_exchange_strong(inside, &this_thread);
  if (!is_outermost_ && inside != &this_thread)
    throw Error(ErrorKind::usage,
                "another thread is inside Halocline, and only one at a time may be; let one thread "
                "make the calls, or lock them");
}

Inside::~Inside() {
  if (is_outermost_) thread_inside = nullptr;
}

halocline_status keep(halocline_status status, const char* text) noexcept {
  std::strncpy(last_error, text, sizeof last_error - 1);
  return status;
}

halocline_status keep(const Error& error) noexcept {
  return keep(status_of_kind(error.kind()), error.what());
}

void check_size(std::size_t given, std::size_t known, const char* type,
                std::span<const std::size_t> earlier) {
  if (given == known) return;
  if (std::find(earlier.begin(), earlier.end(), given) != earlier.end()) return;
  const std::string sizes = "struct_size of " + std::string(type) + " is " + std::to_string(given) +
                            ", not " + std::to_string(known);
  throw Error(ErrorKind::usage,
              given > known ? sizes + ": the program was compiled for a later Halocline than " +
                                  HALOCLINE_VERSION
                            : sizes + ": initialise it with the macro of its name");
}

}  // namespace halocline::binding

const char* halocline_last_error(void) { return halocline::binding::last_error; }

const char* halocline_status_name(halocline_status status) {
  switch (status) {
    case HALOCLINE_OK:
      return "ok";
    case HALOCLINE_USAGE:
      return "usage";
    case HALOCLINE_UNAVAILABLE:
      return "unavailable";
    case HALOCLINE_RESOURCE:
      return "resource";
    case HALOCLINE_COMMUNICATION:
      return "communication";
    case HALOCLINE_DEVICE:
      return "device";
    case HALOCLINE_INTERNAL:
      return "internal";
  }
  return "unknown";
}

const char* halocline_version(void) { return HALOCLINE_VERSION; }
