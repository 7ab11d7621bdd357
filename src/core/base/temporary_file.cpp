// SPDX-License-Identifier: Apache-2.0
#include "base/temporary_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>

#include <halocline/error.hpp>

namespace halocline {
namespace {

namespace fs = std::filesystem;

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

[[noreturn]] void fail(const std::string& target, int error) {
  const std::string folder = folder_of(target);
  const auto because = [&](ErrorKind kind, const std::string& reason) {
    return Error(kind, fmt::format("cannot write '{}': {}", target, reason));
  };
  switch (error) {
    case ENOENT:
      throw because(ErrorKind::usage,
                    fmt::format("there is no folder '{}'; create it first", folder));
    case EISDIR:
      throw because(ErrorKind::usage, "it is a folder; give the name of a file");
    case ENOTDIR:
      throw because(ErrorKind::usage, fmt::format("'{}' is not a folder", folder));
    case EACCES:
    case EPERM:
    case EROFS:
      throw because(ErrorKind::usage,
                    fmt::format("{}; choose a folder and a name that you may write",
                                std::generic_category().message(error)));
    case ENAMETOOLONG:
      throw because(ErrorKind::usage, "the name is too long");
    case ENOSPC:
    case EDQUOT:
      throw because(ErrorKind::resource,
                    fmt::format("{} in '{}'; free some space or write elsewhere",
                                std::generic_category().message(error), folder));
    default:
      throw because(ErrorKind::resource, std::generic_category().message(error));
  }
}

std::string next_name(const std::string& folder) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}/.halocline-{}-{}.tmp", folder, ::getpid(), counter++);
}

}  // namespace

TemporaryFile::TemporaryFile(std::string target) : target_(std::move(target)) {
  std::error_code ignored;
  const std::string real = fs::canonical(target_, ignored).string();
  if (!real.empty()) target_ = real;  // replace what a link points to, not the link

  struct stat existing {};
  const bool exists = ::stat(target_.c_str(), &existing) == 0;
  if (!exists && errno != ENOENT) fail(target_, errno);
  if (target_.empty()) throw Error(ErrorKind::usage, "cannot write a file without a name");
  if (exists && S_ISDIR(existing.st_mode)) fail(target_, EISDIR);
  if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0)
    fail(target_, errno);  // renaming would bypass the file's own protection
  if (exists && !S_ISREG(existing.st_mode)) {
    mode_ = Mode::in_place;
    path_ = target_;
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail(target_, errno);
    return;
  }
  create_beside_target();
  if (exists)
    ::fchmod(descriptor_, existing.st_mode & 07777);  // best effort: a file of another user
}

void TemporaryFile::create_beside_target() {
  const std::string folder = folder_of(target_);
  do {
    path_ = next_name(folder);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail(target_, errno);
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (mode_ == Mode::rename) ::unlink(path_.c_str());
}

void TemporaryFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(target_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void TemporaryFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void TemporaryFile::commit() {
  // Pipes and some devices cannot be flushed to a disk: not an error.
  if (::fsync(descriptor_) != 0 && mode_ == Mode::rename) fail(target_, errno);
  if (mode_ == Mode::rename && ::rename(path_.c_str(), target_.c_str()) != 0) fail(target_, errno);
  // From here on there is no temporary file to remove. Network file systems report late errors on
  // close.
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0 && errno != EINTR) fail(target_, errno);
  if (mode_ == Mode::in_place) return;
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);  // best effort: keeps the new name if the machine crashes
  ::close(folder);
}

void write_text_file(const std::string& path, std::string_view text) {
  TemporaryFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace halocline
