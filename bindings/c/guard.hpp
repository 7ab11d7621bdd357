// SPDX-License-Identifier: Apache-2.0
#pragma once
// The boundary between C and C++: no exception crosses it, and all arguments from C are checked
// here.

#include <array>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>

#include <halocline/error.hpp>
#include <halocline/halocline.h>

namespace halocline::binding {

/// Keeps the text of an error for the thread; returns its status.
halocline_status keep(const Error& error) noexcept;
halocline_status keep(halocline_status status, const char* text) noexcept;

/// Returns the status of work. Catches here, not behind a call that throws again: in a wheel each
/// shared library has a C++ library of its own, and another one's knows no exception in flight.
template <class Work>
halocline_status status_of(const Work& work) noexcept {
  try {
    work();
    return HALOCLINE_OK;
  } catch (const Error& error) {
    return keep(error);
  } catch (const std::bad_alloc&) {
    return keep(HALOCLINE_RESOURCE, "out of host memory");
  } catch (const std::exception& error) {
    return keep(HALOCLINE_INTERNAL, error.what());
  } catch (...) {
    return keep(HALOCLINE_INTERNAL, "an exception of unknown type");
  }
}

/// One call of the library. Throws usage if another thread is in one, or if this process was forked
/// from one that has made calls.
class Inside {
 public:
  Inside();
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool is_outermost_;  // a call may call back, and that call others
};

/// Runs one call and returns its status.
template <class Work>
halocline_status guarded(const Work& work) noexcept {
  return status_of([&] {
    const Inside inside;
    work();
  });
}

/// Throws usage in a process that was forked from one that has made calls.
void refuse_forks();

/// Runs a call that any thread may make at any time, and returns its status.
template <class Work>
halocline_status guarded_beside_others(const Work& work) noexcept {
  return status_of([&] {
    refuse_forks();
    work();
  });
}

/// Throws usage for a handle that no _create or _wrap has set; `what` is its noun: "grid".
template <class Handle>
Handle& made(Handle* handle, const char* what) {
  if (handle == nullptr)
    throw Error(ErrorKind::usage, std::string("the ") + what +
                                      " does not exist: its handle is null; create it first");
  return *handle;
}

/// Throws usage if the pointer is null; `what` is its name in the error: "the grid".
template <class T>
T& required(T* pointer, const char* what) {
  if (pointer == nullptr) throw Error(ErrorKind::usage, std::string(what) + " is a null pointer");
  return *pointer;
}

/// The sizes of a struct of options in earlier versions, which had fewer members at its end.
template <class Options>
inline constexpr std::array<std::size_t, 0> earlier_sizes{};
template <>
inline constexpr std::array<std::size_t, 1> earlier_sizes<halocline_grid_options>{88};
template <>
inline constexpr std::array<std::size_t, 1> earlier_sizes<halocline_exchange_options>{40};

/// Throws usage unless a struct's struct_size is the one that this library knows, or an earlier
/// one.
void check_size(std::size_t given, std::size_t known, const char* type,
                std::span<const std::size_t> earlier = {});

/// Returns the caller's options; members that the caller's version lacks are zero. Throws usage if
/// they were not initialised.
template <class Options>
Options checked(const Options* options, const char* type) {
  const std::size_t size = required(options, type).struct_size;
  check_size(size, sizeof(Options), type, earlier_sizes<Options>);
  Options result{};
  std::memcpy(&result, options, size);
  return result;
}

/// Returns the caller's struct for results. Throws usage as checked().
template <class Info>
Info& fillable(Info* info, const char* type) {
  Info& given = required(info, type);
  check_size(given.struct_size, sizeof(Info), type);
  return given;
}

/// The same, to be filled by fill() alone: the caller may have an earlier version, or null.
template <class Info>
void check_fillable(const Info* info, const char* type) {
  if (info != nullptr) check_size(info->struct_size, sizeof(Info), type, earlier_sizes<Info>);
}

/// Fills the members that the caller's version has; does nothing for null.
template <class Info>
void fill(Info* info, Info values) {
  if (info == nullptr) return;
  values.struct_size = info->struct_size;
  std::memcpy(info, &values, values.struct_size);
}

/// Destroys the object of a handle and sets the handle to null.
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
