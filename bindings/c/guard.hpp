// SPDX-License-Identifier: Apache-2.0
#pragma once
// The border between C and C++: no exception crosses it, and what C hands over is checked here.

#include <cstddef>
#include <cstring>
#include <string>

#include <halocline/error.hpp>
#include <halocline/halocline.h>

namespace halocline::binding {

/// Takes in the exception that is being handled: keeps its text for the thread, returns its status.
halocline_status status_of_exception() noexcept;

/// Does the work of one call.
template <class Work>
halocline_status guarded(const Work& work) noexcept {
  try {
    work();
    return HALOCLINE_OK;
  } catch (...) {
    return status_of_exception();
  }
}

/// Throws usage if the pointer is null; `what` names it: "the grid".
template <class T>
T& required(T* pointer, const char* what) {
  if (pointer == nullptr) throw Error(ErrorKind::usage, std::string(what) + " is a null pointer");
  return *pointer;
}

/// Throws usage unless a struct says that it is as large as this library knows it.
void check_size(std::size_t given, std::size_t known, const char* type);

/// The caller's options. Throws usage if they were not initialised.
template <class Options>
const Options& checked(const Options* options, const char* type) {
  const Options& given = required(options, type);
  check_size(given.struct_size, sizeof(Options), type);
  return given;
}

/// The caller's place for an answer. Throws usage as checked().
template <class Info>
Info& fillable(Info* info, const char* type) {
  Info& given = required(info, type);
  check_size(given.struct_size, sizeof(Info), type);
  return given;
}

/// Ends what a handle stands for, and nulls the handle.
template <class Handle>
halocline_status destroy(Handle** handle, const char* what) noexcept {
  return guarded([&] {
    Handle*& pointer = required(handle, what);
    Handle* const ended = pointer;
    pointer = nullptr;
    delete ended;
  });
}

}  // namespace halocline::binding
