// SPDX-License-Identifier: Apache-2.0
#include "files/framed_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>

#include <halocline/error.hpp>

#include "base/hash.hpp"

namespace halocline::files {
namespace {

constexpr std::int64_t longest_text = std::int64_t{1} << 20;

[[noreturn]] void refuse_file(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("'{}' {}", path, why));
}

[[noreturn]] void fail_to_read(const std::string& path, int error) {
  throw Error(error == ENOENT ? ErrorKind::usage : ErrorKind::resource,
              fmt::format("cannot read '{}': {}", path, std::generic_category().message(error)));
}

/// "MAGIC VERSION HASH LENGTH" and blanks.
std::string first_line(const Frame& frame, const std::string& text) {
  std::string line =
      fmt::format("{} {} {:016x} {}", frame.magic, frame.version, hash_of_text(text), text.size());
  line.resize(static_cast<std::size_t>(frame_bytes) - 1, ' ');
  return line + "\n";
}

}  // namespace

std::uint64_t hash_of_text(std::string_view text) {
  return hash_of(reinterpret_cast<const std::byte*>(text.data()),
                 static_cast<std::int64_t>(text.size()), 1);
}

std::string framed(const Frame& frame, const std::string& text) {
  return first_line(frame, text) + text;
}

Descriptor open_framed(const Frame& frame, const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) fail_to_read(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    refuse_file(path, fmt::format("is no file, and so not {}", frame.kind));
  return file;
}

std::string bytes_at(const Descriptor& file, std::int64_t offset, std::int64_t count,
                     const std::string& path) {
  std::string bytes(static_cast<std::size_t>(count), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(file.get(), bytes.data() + done, bytes.size() - done,
                                offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to_read(path, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

std::string read_framed(const Frame& frame, const Descriptor& file, const std::string& path) {
  const std::string line = bytes_at(file, 0, frame_bytes, path);
  if (!line.starts_with(frame.magic)) refuse_file(path, fmt::format("is not {}", frame.kind));
  int written_by = 0;
  unsigned long long hash = 0;
  long long length = 0;
  if (std::sscanf(line.c_str() + frame.magic.size(), " %d %llx %lld", &written_by, &hash,
                  &length) != 3)
    refuse_damaged(path, "its first line");
  if (written_by != frame.version)
    refuse_file(path,
                fmt::format("is {} of version {}, which this Halocline does not know; it knows "
                            "version {}",
                            frame.kind, written_by, frame.version));
  if (length < 0 || length > longest_text) refuse_damaged(path, "the length of its head");
  const std::string text = bytes_at(file, frame_bytes, length, path);
  if (std::ssize(text) < length) refuse_damaged(path, "it ends before its head does");
  if (first_line(frame, text) != line) refuse_damaged(path, "its head is not as it was written");
  return text;
}

void refuse_damaged(const std::string& path, const std::string& what) {
  refuse_file(path, fmt::format("is damaged: {}", what));
}

}  // namespace halocline::files
