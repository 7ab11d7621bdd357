// SPDX-License-Identifier: Apache-2.0
#include "support/disk_faults.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include <sys/types.h>

namespace {

using Kind = halocline::test::DiskFaults::Kind;

struct Plan {
  std::string folder;
  Kind kind = Kind::none;
  std::int64_t call = 0;
  int error = 0;
};
Plan plan;
std::atomic<bool> is_active = false;
std::atomic<std::int64_t> calls_so_far = 0;

bool is_in_folder(std::string_view path) {
  return path.size() > plan.folder.size() && path.starts_with(plan.folder) &&
         path[plan.folder.size()] == '/';
}

bool is_in_folder(int descriptor) {
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  return length > 0 && is_in_folder({path.data(), static_cast<std::size_t>(length)});
}

/// What a call on such a file or path has to do.
template <class Where>
Kind kind_of_call(const Where& where) {
  if (!is_active || !is_in_folder(where)) return Kind::none;
  const std::int64_t call = ++calls_so_far;
  if (plan.kind == Kind::all_fail) return call >= plan.call ? Kind::fails : Kind::none;
  return call == plan.call ? plan.kind : Kind::none;
}

/// Whether a call that moves no bytes fails.
template <class Where>
bool fails(const Where& where) {
  const Kind kind = kind_of_call(where);
  if (kind != Kind::fails && kind != Kind::torn) return false;
  errno = plan.error;
  return true;
}

/// `move` moves so many bytes, at most.
template <class Move>
ssize_t moved(int descriptor, std::size_t bytes, const Move& move) {
  const Kind kind = kind_of_call(descriptor);
  if (kind == Kind::none) return move(bytes);
  ssize_t done = 0;
  if (kind != Kind::fails && bytes > 1) done = move(bytes / 2);
  if (kind == Kind::short_write && done > 0) return done;
  if (kind == Kind::lost) return static_cast<ssize_t>(bytes);
  errno = plan.error;
  return -1;
}

template <class Function>
Function next(Function, const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

mode_t mode_in(int flags, std::va_list& rest) {
  return (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(rest, unsigned)) : 0;
}

}  // namespace

// These stand before the C library's own.
#define HALOCLINE_NEXT(function) static const auto own = next(&::function, #function)

extern "C" int open(const char* path, int flags, ...) {
  static const auto own =
      reinterpret_cast<int (*)(const char*, int, ...)>(::dlsym(RTLD_NEXT, "open"));
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_in(flags, rest);
  va_end(rest);
  return fails(std::string_view(path)) ? -1 : own(path, flags, mode);
}
extern "C" int open64(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_in(flags, rest);
  va_end(rest);
  return open(path, flags, mode);
}
extern "C" ssize_t write(int file, const void* bytes, std::size_t count) {
  HALOCLINE_NEXT(write);
  return moved(file, count, [&](std::size_t some) { return own(file, bytes, some); });
}
extern "C" ssize_t pwrite(int file, const void* bytes, std::size_t count, off_t offset) {
  HALOCLINE_NEXT(pwrite);
  return moved(file, count, [&](std::size_t some) { return own(file, bytes, some, offset); });
}
extern "C" ssize_t pwrite64(int file, const void* bytes, std::size_t count, off64_t offset) {
  return pwrite(file, bytes, count, offset);
}
extern "C" ssize_t pread(int file, void* bytes, std::size_t count, off_t offset) {
  HALOCLINE_NEXT(pread);
  return moved(file, count, [&](std::size_t some) { return own(file, bytes, some, offset); });
}
extern "C" ssize_t pread64(int file, void* bytes, std::size_t count, off64_t offset) {
  return pread(file, bytes, count, offset);
}
extern "C" int fsync(int file) {
  HALOCLINE_NEXT(fsync);
  return fails(file) ? -1 : own(file);
}
extern "C" int ftruncate(int file, off_t length) noexcept {
  HALOCLINE_NEXT(ftruncate);
  return fails(file) ? -1 : own(file, length);
}
extern "C" int ftruncate64(int file, off64_t length) noexcept { return ftruncate(file, length); }
extern "C" int rename(const char* from, const char* to) noexcept {
  HALOCLINE_NEXT(rename);
  return fails(std::string_view(from)) ? -1 : own(from, to);
}

namespace halocline::test {

DiskFaults::DiskFaults(const std::string& folder, Kind kind, std::int64_t call, int error) {
  plan = {folder, kind, call, error};
  calls_so_far = 0;
  is_active = true;
}
DiskFaults::~DiskFaults() { is_active = false; }
std::int64_t DiskFaults::calls() const { return calls_so_far; }

}  // namespace halocline::test
