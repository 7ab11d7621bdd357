// SPDX-License-Identifier: Apache-2.0
#include "base/temporary_file.hpp"

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

#include "base/descriptor.hpp"
#include "base/small_files.hpp"

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

std::string next_name(const std::string& folder) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}/.halocline-{}-{}.tmp", folder, ::getpid(), counter++);
}

int create(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
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
  std::string path;  ///< the target of a link, not the link
  bool exists = false;
  struct stat status {};

  bool is_regular() const { return !exists || S_ISREG(status.st_mode); }
};

/// A redirected standard output: a new file under its name would not get what is printed.
bool is_standard_output(const Target& target) {
  struct stat out {};
  return target.exists && ::fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == target.status.st_dev &&
         out.st_ino == target.status.st_ino;
}

/// True if the folder lets only the owners of files replace them, and this is somebody else's.
bool is_protected_by_sticky_folder(const Target& target) {
  struct stat folder {};
  const uid_t user = ::geteuid();
  return target.exists && user != 0 && ::stat(folder_of(target.path).c_str(), &folder) == 0 &&
         (folder.st_mode & S_ISVTX) != 0 && target.status.st_uid != user && folder.st_uid != user;
}

/// Finds the target and throws what its kind or its rights forbid.
Target find_target(const std::string& path) {
  if (path.empty()) throw Error(ErrorKind::usage, "cannot write a file without a name");
  Target target{.path = path};
  std::error_code ignored;
  const std::string real = fs::canonical(path, ignored).string();
  if (!real.empty()) target.path = real;
  target.exists = ::stat(target.path.c_str(), &target.status) == 0;
  if (!target.exists && errno != ENOENT) fail(target.path, errno);
  if (!target.exists) return target;
  if (S_ISDIR(target.status.st_mode)) fail(target.path, EISDIR);
  if (S_ISSOCK(target.status.st_mode))
    throw cannot_write(ErrorKind::usage, target.path, "it is a socket; give the name of a file");
  // Renaming would bypass the file's own protection.
  if (::faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0) fail(target.path, errno);
  if (target.is_regular() && is_protected_by_sticky_folder(target))
    throw cannot_write(
        ErrorKind::usage, target.path,
        fmt::format("it is another user's, and in '{}' nobody else may replace it (sticky bit); "
                    "choose another name",
                    folder_of(target.path)));
  return target;
}

}  // namespace

TemporaryFile::TemporaryFile(std::string target, Otherwise otherwise) : target_(std::move(target)) {
  try {
    open_target();
  } catch (const Error& error) {
    if (otherwise == Otherwise::fail) throw;
    not_in_place_ = error;
    create_in_working_folder();
  }
}

void TemporaryFile::open_target() {
  const Target target = find_target(target_);
  target_ = target.path;
  if (!target.is_regular() || is_standard_output(target)) {
    mode_ = Mode::in_place;
    path_ = target_;
    return open_in_place();
  }
  create_beside_target();
  if (target.exists)
    ::fchmod(descriptor_, target.status.st_mode & 07777);  // best effort: a file of another user
}

void TemporaryFile::open_in_place() {
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {  // standard output
    descriptor_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (descriptor_ < 0) fail(target_, errno);
    return;
  }
  // Without O_NONBLOCK the call would wait without a limit for a reader of the pipe.
  const auto enough = std::chrono::steady_clock::now() + wait_for_reader;
  do {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ >= 0) {
      ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) & ~O_NONBLOCK);
      return;
    }
    if (errno != ENXIO && errno != EINTR) fail(target_, errno);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (std::chrono::steady_clock::now() < enough);
  throw cannot_write(ErrorKind::resource, target_,
                     fmt::format("nobody has read this pipe for {} s; start its reader first",
                                 wait_for_reader.count()));
}

/// Before the file exists, so that no signal comes between.
void TemporaryFile::take_name(const std::string& path) {
  leave(place_);
  path_ = path;
  place_ = enter(path_);
}

void TemporaryFile::create_beside_target() {
  const std::string folder = folder_of(target_);
  do {
    take_name(next_name(folder));
    descriptor_ = create(path_);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ >= 0) return;
  const int error = errno;
  leave(std::exchange(place_, -1));
  fail(target_, error);
}

/// Throws what forbade to write the target if this folder is no better.
void TemporaryFile::create_in_working_folder() {
  std::error_code ignored;
  const fs::path folder = fs::current_path(ignored);
  const std::string name = fs::path(target_).filename().string();
  mode_ = Mode::keep;
  for (int i = 0; descriptor_ < 0 && i < 1000; ++i) {
    take_name((folder / fmt::format("halocline-{}-{}-{}", ::getpid(), i, name)).string());
    descriptor_ = create(path_);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  if (descriptor_ >= 0) return;
  leave(std::exchange(place_, -1));
  throw Error(*not_in_place_);
}

void TemporaryFile::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  leave(std::exchange(place_, -1));
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ < 0) return;
  if (mode_ != Mode::in_place) ::unlink(path_.c_str());
  close();
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
  if (::fsync(descriptor_) != 0 && mode_ != Mode::in_place) fail(target_, errno);
  if (mode_ == Mode::keep) keep("");
  if (mode_ == Mode::rename && ::rename(path_.c_str(), target_.c_str()) != 0)
    keep(errno == ENOENT ? fmt::format("'{}' was removed or renamed meanwhile", folder_of(target_))
                         : text_of(errno));
  leave(std::exchange(place_, -1));
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

/// Leaves the complete file where it is, under the name that it has now.
void TemporaryFile::keep(const std::string& reason) {
  if (!not_in_place_) not_in_place_ = cannot_write(ErrorKind::resource, target_, reason);
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0 && status.st_nlink == 0) copy_to_working_folder();
  std::error_code ignored;
  const fs::path now = fs::read_symlink(fmt::format("/proc/self/fd/{}", descriptor_), ignored);
  if (!now.empty()) path_ = now.string();
  close();
  throw Error(ErrorKind::resource,
              fmt::format("{}; the complete file is '{}'", not_in_place_->what(), path_));
}

/// Saves the content of a file that was removed together with its folder.
void TemporaryFile::copy_to_working_folder() {
  const Descriptor removed(
      ::open(fmt::format("/proc/self/fd/{}", descriptor_).c_str(), O_RDONLY | O_CLOEXEC));
  if (!removed.is_open()) throw Error(*not_in_place_);
  close();
  create_in_working_folder();
  std::array<std::byte, 1 << 16> block;
  for (;;) {
    const ssize_t got = ::read(removed.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(target_, errno);
    if (got == 0) break;
    write(std::span(block).first(static_cast<std::size_t>(got)));
  }
  if (::fsync(descriptor_) != 0) fail(target_, errno);
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
  if (target.is_regular() && !is_standard_output(target)) const TemporaryFile can_be_made(path);
}

void remove_temporary_files() noexcept {
  for (const Place& place : places)
    if (place.state == Place::used) ::unlink(place.path.data());
}

}  // namespace halocline
