// SPDX-License-Identifier: Apache-2.0
#include "comm/collective_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "comm/file_transfer.hpp"
#include "comm/gate.hpp"

// Why not MPI-IO. Open MPI 4.1.4 (OMPIO) reports success when a collective write meets a full
// disk, and so does its MPI_File_preallocate; its independent writes lose the reason, which they
// print. MPICH 4.0.2 (ROMIO) reports the error, but an independent strided write to a full disk
// leaves other ranks hanging. To write 1 GiB in memory (tmpfs), rows of 128 doubles being split
// between 2 ranks on 2 cores, OMPIO takes 2.1 s, ROMIO 1.0 s, and what follows 0.6 s: FileTransfer
// brings the cells to the ranks that write them, and each rank makes system calls, whose errors can
// be trusted, for a part of the file that is its own.

namespace halocline::comm {
namespace {

/// Rounds between two agreements of the ranks to continue. Between these they need not wait for
/// each other, so the number is small compared with the rounds that a slow disk writes within the
/// wait limit.
constexpr std::int64_t rounds_per_leg = 8;

/// In addition to the system's error numbers.
constexpr int ended_early = -1;

bool ends_leg(std::int64_t round, std::int64_t rounds) {
  return (round + 1) % rounds_per_leg == 0 || round + 1 == rounds;
}

std::string text_of(int error) { return std::generic_category().message(error); }

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

bool another_path_helps(int error) {
  switch (error) {
    case ENOENT:
    case EISDIR:
    case ENOTDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case ENAMETOOLONG:
    case ELOOP:
    case ENXIO:
    case ESPIPE:
      return true;
    default:
      return false;
  }
}

/// Returns the system's reason and, where one is known, the fix.
std::string reason_of(int error, const std::string& name) {
  switch (error) {
    case EISDIR:
      return "it is a folder; give the name of a file";
    case ENOTDIR:
      return fmt::format("'{}' is not a folder", folder_of(name));
    case ESPIPE:
      return "several ranks cannot write to one pipe; give the name of a file";
    case ENOSPC:
    case EDQUOT:
      return fmt::format("{} in '{}'; free some space or write elsewhere", text_of(error),
                         folder_of(name));
    default:
      return text_of(error);
  }
}

/// Writes all of `bytes`; returns 0 or errno.
int write_at(int descriptor, std::span<const std::byte> bytes, std::int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += written;
  }
  return 0;
}

struct ReadResult {
  std::size_t bytes = 0;  ///< fewer than requested at the end of the file
  int error = 0;          ///< errno
};

ReadResult read_at(int descriptor, std::span<std::byte> bytes, std::int64_t offset) {
  ReadResult result;
  while (result.bytes < bytes.size()) {
    const ssize_t got =
        ::pread(descriptor, bytes.data() + result.bytes, bytes.size() - result.bytes, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) result.error = errno;
    if (got <= 0) break;
    result.bytes += static_cast<std::size_t>(got);
    offset += got;
  }
  return result;
}

/// Waits for every rank's disk, without a limit: a slow disk does not mean a lost rank.
void wait_for_disks(const Communicator& communicator) {
  State& state = communicator.state();
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(state.all(), &request), "MPI_Ibarrier");
  wait_all(
      state, {&request, 1},
      {.site = "file, disks", .phase = Phase::other, .missing = {}, .limit = Wait::Limit::none});
}

}  // namespace

CollectiveFile::CollectiveFile(const Communicator& communicator, const FileToOpen& file)
    : communicator_(communicator), file_(file) {
  if (file_.name_in_errors.empty()) file_.name_in_errors = file_.path;
  on_first_rank(communicator_, [this] {
    open();
    file_.path = std::filesystem::absolute(file_.path).string();
  });
  file_.path = broadcast(communicator_, file_.path, 0);
  together(communicator_, [this] {
    if (communicator_.rank() != 0) open();
  });
  bytes_ = max_over_ranks(communicator_, bytes_);
}

void CollectiveFile::open() {
  const bool reads = file_.access == FileToOpen::Access::read;
  const bool is_first = communicator_.rank() == 0;
  // Without O_NONBLOCK, opening a pipe would block until another process writes to it.
  const int flags = reads ? O_RDONLY | O_NONBLOCK : is_first ? O_WRONLY | O_CREAT : O_WRONLY;
  descriptor_ = Descriptor(::open(file_.path.c_str(), flags | O_CLOEXEC, 0666));
  const int error = errno;
  if (descriptor_.is_open()) return look_at_type();
  if (error != ENOENT) fail(error);
  if (!is_first) fail(ErrorKind::usage, "it does not exist here; all nodes must share its folder");
  if (reads) fail(ErrorKind::usage, "there is no such file");
  fail(ErrorKind::usage,
       fmt::format("there is no folder '{}'; create it first", folder_of(file_.name_in_errors)));
}

void CollectiveFile::look_at_type() {
  struct stat status {};
  if (::fstat(descriptor_.get(), &status) != 0) fail(errno);
  is_regular_ = S_ISREG(status.st_mode);
  if (communicator_.rank() == 0) bytes_ = status.st_size;
  if (file_.access == FileToOpen::Access::write || is_regular_) return;
  if (S_ISDIR(status.st_mode)) fail(EISDIR);
  fail(ErrorKind::usage, "it is a pipe or a device; give the name of a file");
}

std::string CollectiveFile::read_start(std::int64_t most_bytes) {
  std::string text;
  on_first_rank(communicator_, [&] {
    text.resize(static_cast<std::size_t>(std::min(most_bytes, bytes_)));
    const ReadResult result =
        read_at(descriptor_.get(), std::as_writable_bytes(std::span(text)), 0);
    if (result.error != 0) fail(result.error);
    text.resize(result.bytes);
  });
  return broadcast(communicator_, std::move(text), 0);
}

void CollectiveFile::write_start(std::string_view text) {
  on_first_rank(communicator_, [&] {
    const int error = write_at(descriptor_.get(), std::as_bytes(std::span(text)), 0);
    if (error != 0) fail(error);
    written_to_ = std::max(written_to_, static_cast<std::int64_t>(text.size()));
  });
}

void CollectiveFile::write(const ArrayInFile& array, const PartInMemory& part) {
  FileTransfer transfer(communicator_, array, part, file_.name_in_errors);
  if (transfer.cells_held() != array.cells.x * array.cells.y * array.cells.z)
    fail(ErrorKind::internal, "the ranks hold fewer or more cells than the array has");
  on_first_rank(communicator_, [&] { reserve(array); });
  int error = 0;
  for (std::int64_t round = 0; round < transfer.rounds(); ++round) {
    transfer.collect(round);
    const std::span<const std::byte> chunk = transfer.chunk(round);
    const Span span(recorder(communicator_), Phase::other, "file, write",
                    static_cast<std::int64_t>(chunk.size()));
    if (error == 0) error = write_at(descriptor_.get(), chunk, transfer.offset_bytes(round));
    if (ends_leg(round, transfer.rounds())) finish_leg(error);
  }
  written_to_ = std::max(written_to_, array.end_bytes());
}

/// Reports a disk that is too small at once, not after hours. File systems that cannot reserve
/// space report it on writing.
void CollectiveFile::reserve(const ArrayInFile& array) {
  if (!is_regular_) return;
  int result = 0;
  do {
    result = ::fallocate(descriptor_.get(), 0, array.offset_bytes, array.bytes());
  } while (result != 0 && errno == EINTR);
  if (result != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) fail(errno);
}

void CollectiveFile::read(const ArrayInFile& array, const PartInMemory& part) {
  FileTransfer transfer(communicator_, array, part, file_.name_in_errors);
  int error = 0;
  for (std::int64_t round = 0; round < transfer.rounds(); ++round) {
    const std::span<std::byte> chunk = transfer.chunk(round);
    if (error == 0) {
      const Span span(recorder(communicator_), Phase::other, "file, read",
                      static_cast<std::int64_t>(chunk.size()));
      const ReadResult result = read_at(descriptor_.get(), chunk, transfer.offset_bytes(round));
      error = result.bytes < chunk.size() && result.error == 0 ? ended_early : result.error;
    }
    transfer.distribute(round);
    if (ends_leg(round, transfer.rounds())) finish_leg(error);
  }
}

void CollectiveFile::finish_leg(int error) {
  wait_for_disks(communicator_);
  together(communicator_, [&] {
    if (error == ended_early) fail(ErrorKind::resource, "it ends before the array does");
    if (error != 0) fail(error);
  });
}

void CollectiveFile::close() {
  if (file_.access == FileToOpen::Access::write) {
    const Span span(recorder(communicator_), Phase::other, "file, sync");
    const int error = sync();
    finish_leg(error);
    on_first_rank(communicator_, [this] { check_length(); });
  }
  // Network file systems report late errors here.
  const int error = descriptor_.close();
  finish_leg(error);
}

int CollectiveFile::sync() const {
  if (::fsync(descriptor_.get()) == 0) return 0;
  return is_regular_ ? errno : 0;  // pipes and some devices have no disk
}

void CollectiveFile::check_length() const {
  struct stat status {};
  if (::fstat(descriptor_.get(), &status) != 0) fail(errno);
  if (is_regular_ && status.st_size < written_to_)
    fail(ErrorKind::resource,
         fmt::format("{} bytes were written, but the file has {}", written_to_, status.st_size));
}

void CollectiveFile::fail(int error) const {
  const std::string& name = file_.name_in_errors;
  fail(another_path_helps(error) ? ErrorKind::usage : ErrorKind::resource, reason_of(error, name));
}

void CollectiveFile::fail(ErrorKind kind, const std::string& reason) const {
  throw Error(kind, fmt::format("cannot {} '{}': {}",
                                file_.access == FileToOpen::Access::read ? "read" : "write",
                                file_.name_in_errors, reason));
}

}  // namespace halocline::comm
