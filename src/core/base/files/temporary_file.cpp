// SPDX-License-Identifier: Apache-2.0
#include "base/files/temporary_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>

#include "base/files/small_files.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

/// As long as a reader that is started together with the run may take.
constexpr std::chrono::seconds wait_for_reader{10};

std::string text_of(int error) { return std::generic_category().message(error); }

Error cannot_write(ErrorKind kind, const std::string& target, const std::string& reason) {
  return {kind, fmt::format("cannot write '{}': {}", target, reason)};
}

[[noreturn]] void fail(const std::string& target, int error) {
  const std::string folder = folder_of(target);
  const auto because = [&](ErrorKind kind, const std::string& reason) {
    return cannot_write(kind, target, reason);
  };
  switch (error) {
    case ENOENT:
      if (std::error_code ignored; fs::is_directory(folder, ignored))
        throw because(ErrorKind::usage, fmt::format("no file can be created in '{}'", folder));
      throw because(ErrorKind::usage,
                    fmt::format("there is no folder '{}'; create it first", folder));
    case EISDIR:
      throw because(ErrorKind::usage, "it is a folder; give the name of a file");
    case ENOTDIR:
      throw because(ErrorKind::usage, fmt::format("'{}' is not a folder", folder));
    case EACCES:
    case EPERM:
    case EROFS:
      throw because(
          ErrorKind::usage,
          fmt::format("{}; choose a folder and a name that you may write", text_of(error)));
    case ENAMETOOLONG:
      throw because(ErrorKind::usage, "the name is too long");
    case ENOSPC:
    case EDQUOT:
      throw because(ErrorKind::resource, fmt::format("{} in '{}'; free some space or write "
                                                     "elsewhere",
                                                     text_of(error), folder));
    case EFBIG:
      throw because(ErrorKind::resource,
                    fmt::format("{}; raise the limit of the shell (ulimit -f), or write to a file "
                                "system that allows larger files",
                                text_of(error)));
    case EPIPE:
      throw because(ErrorKind::resource, "its reader has gone");
    default:
      throw because(ErrorKind::resource, text_of(error));
  }
}

/// The files that a signal removes, in memory that its handler may read at any time.
struct Place {
  enum State : int { free, filling, used };
  std::atomic<int> state{free};
  std::array<char, PATH_MAX> path{};
};
static_assert(std::atomic<int>::is_always_lock_free);
std::array<Place, 8> places;

/// Returns -1 if there are more files than places, or the path is too long: that file stays.
int enter(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < places.size(); ++i) {
    int expected = Place::free;
    if (!places[i].state.compare_exchange_strong(expected, Place::filling)) continue;
    std::memcpy(places[i].path.data(), path.c_str(), path.size() + 1);
    places[i].state = Place::used;
    return static_cast<int>(i);
  }
  return -1;
}

void leave(int place) {
  if (place >= 0) places[static_cast<std::size_t>(place)].state = Place::free;
}

struct Target {
  std::string path;  ///< what a link points to, not the link
  std::optional<mode_t> mode;
  bool is_replaced = true;  ///< by a new file; else written in place
};

/// Finds the target and throws what its kind or its rights forbid.
Target find_target(const std::string& path) {
  if (path.empty()) throw Error(ErrorKind::usage, "cannot write a file without a name");
  Target target{.path = path, .mode = {}};
  std::error_code ignored;
  const std::string real = fs::canonical(path, ignored).string();
  if (!real.empty()) target.path = real;
  struct stat status {};
  if (::stat(target.path.c_str(), &status) != 0) {
    if (errno != ENOENT) fail(target.path, errno);
    return target;
  }
  if (S_ISDIR(status.st_mode)) fail(target.path, EISDIR);
  // Renaming would bypass the file's own protection.
  if (::faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0) fail(target.path, errno);
  // A redirected standard output: a new file under its name would not get what is printed.
  struct stat out {};
  const bool is_output = ::fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == status.st_dev &&
                         out.st_ino == status.st_ino;
  target.mode = status.st_mode;
  target.is_replaced = S_ISREG(status.st_mode) && !is_output;
  return target;
}

}  // namespace

TemporaryFile::TemporaryFile(std::string target, Otherwise otherwise) : target_(std::move(target)) {
  try {
    open_target();
  } catch (const Error& error) {
    std::error_code ignored;
    const std::string before = fs::current_path(ignored) / "halocline-";
    if (otherwise == Otherwise::fail ||
        create(before, "-" + fs::path(target_).filename().string()) != 0)
      throw;
    not_in_place_ = error;
  }
}

void TemporaryFile::open_target() {
  const Target target = find_target(target_);
  target_ = target.path;
  if (!target.is_replaced) return open_in_place();
  if (const int error = create(folder_of(target_) + "/.halocline-", ".tmp")) fail(target_, error);
  if (target.mode)
    ::fchmod(descriptor_.get(), *target.mode & 07777);  // best effort: a file of another user
}

void TemporaryFile::open_in_place() {
  path_ = target_;
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {  // standard output
    descriptor_ = Descriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!descriptor_.is_open()) fail(target_, errno);
    is_in_place_ = true;
    return;
  }
  // Without O_NONBLOCK the call would wait without a limit for a reader of the pipe.
  const auto enough = std::chrono::steady_clock::now() + wait_for_reader;
  do {
    descriptor_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    if (descriptor_.is_open()) {
      ::fcntl(descriptor_.get(), F_SETFL, ::fcntl(descriptor_.get(), F_GETFL) & ~O_NONBLOCK);
      is_in_place_ = true;
      return;
    }
    if (errno != ENXIO && errno != EINTR) fail(target_, errno);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (std::chrono::steady_clock::now() < enough);
  throw cannot_write(ErrorKind::resource, target_,
                     fmt::format("nobody has read this pipe for {} s; start its reader first",
                                 wait_for_reader.count()));
}

/// Creates a file that no other process has, with a number between these parts of its name.
/// Returns 0 or an errno.
int TemporaryFile::create(const std::string& before, const std::string& after) {
  static std::atomic<unsigned> counter{0};
  int error = EEXIST;
  while (error == EEXIST) {
    path_ = fmt::format("{}{}-{}{}", before, ::getpid(), counter++, after);
    place_ = enter(path_);  // before the file exists, so that no signal comes between
    descriptor_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (descriptor_.is_open()) return 0;
    error = errno;
    leave(std::exchange(place_, -1));
  }
  return error;
}

TemporaryFile::~TemporaryFile() {
  if (!descriptor_.is_open()) return;
  if (!is_in_place_) ::unlink(path_.c_str());
  leave(place_);
}

void TemporaryFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_.get(), bytes.data(), bytes.size());
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
  if (::fsync(descriptor_.get()) != 0 && !is_in_place_) fail(target_, errno);
  if (!is_in_place_ && !not_in_place_ && ::rename(path_.c_str(), target_.c_str()) != 0)
    not_in_place_ = cannot_write(
        ErrorKind::resource, target_,
        errno == ENOENT ? fmt::format("'{}' was removed or renamed meanwhile", folder_of(target_))
                        : text_of(errno));
  leave(std::exchange(place_, -1));
  // From here on there is no temporary file to remove. Network file systems report late errors on
  // close.
  if (const int error = descriptor_.close()) fail(target_, error);
  if (not_in_place_)
    throw Error(ErrorKind::resource,
                fmt::format("{}; the complete file is '{}'", not_in_place_->what(), path_));
  if (is_in_place_) return;
  const Descriptor folder(::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.is_open()) ::fsync(folder.get());  // best effort: the new name survives a crash
}

bool is_temporary_name(std::string_view name) {
  return name.starts_with(".halocline-") && name.ends_with(".tmp");
}

void write_text_file(const std::string& path, std::string_view text, Otherwise otherwise) {
  TemporaryFile file(path, otherwise);
  file.write(text);
  file.commit();
}

void check_target(const std::string& path) {
  const Target target = find_target(path);
  if (target.is_replaced) const TemporaryFile can_be_made(path);
}

void remove_temporary_files() noexcept {
  for (const Place& place : places)
    if (place.state == Place::used) ::unlink(place.path.data());
}

}  // namespace halocline
