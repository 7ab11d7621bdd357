// SPDX-License-Identifier: Apache-2.0
#include "files/parallel/collective_file.hpp"

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

#include "base/files/small_files.hpp"
#include "comm/collectives.hpp"
#include "comm/messages.hpp"
#include "files/parallel/file_transfer.hpp"

// Why not MPI-IO. Open MPI 4.1.4 (OMPIO) reports success when a collective write meets a full
// disk, and so does its MPI_File_preallocate; its independent writes lose the reason, which they
// print. MPICH 4.0.2 (ROMIO) reports the error, but an independent strided write to a full disk
// leaves other ranks hanging. To write 1 GiB in memory (tmpfs), rows of 128 doubles being split
// between 2 ranks on 2 cores, OMPIO takes 2.1 s, ROMIO 1.0 s, and what follows 0.6 s: FileTransfer
// brings the cells to the ranks that write them, and each rank makes system calls, whose errors can
// be trusted, for a part of the file that is its own.

namespace halocline::files {
namespace {

/// In addition to the system's error numbers.
constexpr int ended_early = -1;

std::string text_of(int error) { return std::generic_category().message(error); }

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
    case ENXIO:
      return "it is a socket, or a pipe that nobody reads; give the name of a file";
    case EFBIG:
      return fmt::format(
          "{}; raise the limit of the shell (ulimit -f), or write to a file system that allows "
          "larger files",
          text_of(error));
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
  if (bytes.empty()) return 0;
  const std::int64_t begin = offset;
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += written;
  }
  // The disk begins at once, not when close() asks for it. What fails here, fails there again.
  static_cast<void>(::sync_file_range(descriptor, begin, offset - begin, SYNC_FILE_RANGE_WRITE));
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

/// Returns 0 or errno.
int sync(const Descriptor& file, bool is_regular) {
  if (::fsync(file.get()) == 0) return 0;
  return is_regular ? errno : 0;  // pipes and some devices have no disk
}

}  // namespace

CollectiveFile::CollectiveFile(const Communicator& communicator, const FileToOpen& file)
    : communicator_(communicator), file_(file), tag_(comm::next_tag(communicator)) {
  if (file_.name_in_errors.empty()) file_.name_in_errors = file_.path;
  comm::on_first_rank(communicator_, [this] {
    open();
    file_.path = std::filesystem::absolute(file_.path).string();
  });
  file_.path = comm::broadcast(communicator_, file_.path, 0);
  comm::together(communicator_, [this] {
    if (communicator_.rank() != 0) open();
  });
  bytes_ = comm::max_over_ranks(communicator_, bytes_);
}

void CollectiveFile::open() {
  const bool reads = file_.access == FileToOpen::Access::read;
  const bool is_first = communicator_.rank() == 0;
  // Without O_NONBLOCK, opening a pipe would block until another process opens it, too. Files do
  // not know it.
  const int flags = O_NONBLOCK | (reads ? O_RDONLY : is_first ? O_WRONLY | O_CREAT : O_WRONLY);
  descriptor_ = std::make_shared<Descriptor>(::open(file_.path.c_str(), flags | O_CLOEXEC, 0666));
  const int error = errno;
  if (descriptor_->is_open()) return look_at_type();
  if (error != ENOENT) fail(error);
  if (!is_first) fail(ErrorKind::usage, "it does not exist here; all nodes must share its folder");
  if (reads) fail(ErrorKind::usage, "there is no such file");
  if (std::error_code ignored; std::filesystem::is_directory(folder_of(file_.path), ignored))
    fail(ErrorKind::usage,
         fmt::format("no file can be created in '{}'", folder_of(file_.name_in_errors)));
  fail(ErrorKind::usage,
       fmt::format("there is no folder '{}'; create it first", folder_of(file_.name_in_errors)));
}

void CollectiveFile::look_at_type() {
  struct stat status {};
  if (::fstat(descriptor_->get(), &status) != 0) fail(errno);
  is_regular_ = S_ISREG(status.st_mode);
  if (communicator_.rank() == 0) bytes_ = status.st_size;
  if (file_.access == FileToOpen::Access::write || is_regular_) return;
  if (S_ISDIR(status.st_mode)) fail(EISDIR);
  fail(ErrorKind::usage, "it is a pipe or a device; give the name of a file");
}

std::string CollectiveFile::read_start(std::int64_t most_bytes) {
  std::string text;
  comm::on_first_rank(communicator_, [&] {
    text.resize(static_cast<std::size_t>(std::min(most_bytes, bytes_)));
    const ReadResult result =
        read_at(descriptor_->get(), std::as_writable_bytes(std::span(text)), 0);
    if (result.error != 0) fail(result.error);
    text.resize(result.bytes);
  });
  return comm::broadcast(communicator_, std::move(text), 0);
}

void CollectiveFile::write_on_first(const std::vector<FilePiece>& pieces) {
  comm::on_first_rank(communicator_, [&] {
    for (const auto& [offset_bytes, bytes] : pieces) {
      const int error = write_at(descriptor_->get(), std::as_bytes(std::span(bytes)), offset_bytes);
      if (error != 0) fail(error);
      written_to_ = std::max(written_to_, offset_bytes + std::ssize(bytes));
    }
  });
}

std::uint64_t CollectiveFile::write(const ArrayInFile& array, const PartInMemory& part) {
  FileTransfer transfer(communicator_, array, part, file_.name_in_errors);
  if (transfer.cells_held() != array.cells.x * array.cells.y * array.cells.z)
    fail(ErrorKind::internal, "the ranks hold fewer or more cells than the array has");
  comm::on_first_rank(communicator_, [&] { reserve(array); });
  std::uint64_t hash = 0;
  // One round is written while the next one is collected.
  DiskWork writing(communicator_, tag_);
  for (std::int64_t round = 0; round < transfer.rounds(); ++round) {
    transfer.collect(round);
    const std::span<const std::byte> chunk = transfer.chunk(round);
    hash += transfer.hash_of_chunk(round);
    const Span span(comm::recorder(communicator_), Phase::other, "file, write",
                    static_cast<std::int64_t>(chunk.size()));
    finish(writing);
    writing.start(
        [file = descriptor_, chunk, keeps = transfer.memory(),
         offset = transfer.offset_bytes(round)] { return write_at(file->get(), chunk, offset); });
  }
  finish(writing);
  transfer.finish();
  written_to_ = std::max(written_to_, array.end_bytes());
  return comm::sum_over_ranks(communicator_, hash);
}

/// Reports a disk that is too small at once, not after hours. File systems that cannot reserve
/// space report it on writing.
void CollectiveFile::reserve(const ArrayInFile& array) {
  if (!is_regular_) return;
  int result = 0;
  do {
    result = ::fallocate(descriptor_->get(), 0, array.offset_bytes, array.bytes());
  } while (result != 0 && errno == EINTR);
  if (result != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) fail(errno);
}

std::uint64_t CollectiveFile::read(const ArrayInFile& array, const PartInMemory& part) {
  FileTransfer transfer(communicator_, array, part, file_.name_in_errors);
  std::uint64_t hash = 0;
  // One round is read while the one before is distributed.
  DiskWork reading(communicator_, tag_);
  const auto start = [&](std::int64_t round) {
    reading.start([file = descriptor_, chunk = transfer.chunk(round), keeps = transfer.memory(),
                   offset = transfer.offset_bytes(round)] {
      const ReadResult result = read_at(file->get(), chunk, offset);
      return result.bytes < chunk.size() && result.error == 0 ? ended_early : result.error;
    });
  };
  if (transfer.rounds() > 0) start(0);
  for (std::int64_t round = 0; round < transfer.rounds(); ++round) {
    {
      const Span span(comm::recorder(communicator_), Phase::other, "file, read",
                      static_cast<std::int64_t>(transfer.chunk(round).size()));
      finish(reading);
    }
    if (round + 1 < transfer.rounds()) start(round + 1);
    hash += transfer.hash_of_chunk(round);
    transfer.distribute(round);
  }
  transfer.finish();
  return comm::sum_over_ranks(communicator_, hash);
}

/// Runs `work`, which returns an error number or 0, on every rank; throws, on every rank, if it
/// failed on any.
void CollectiveFile::on_disks(const std::function<int()>& work) {
  DiskWork on_disk(communicator_, tag_);
  on_disk.start(work);
  finish(on_disk);
}

void CollectiveFile::finish(DiskWork& work) {
  const DiskEnd end = work.finish();
  if (end.on_all) return;
  comm::together(communicator_, [&] {
    if (end.error == ended_early) fail(ErrorKind::resource, "it ends before the array does");
    if (end.error != 0) fail(end.error);
  });
}

void CollectiveFile::close() {
  if (file_.access == FileToOpen::Access::write) {
    const Span span(comm::recorder(communicator_), Phase::other, "file, sync");
    on_disks([file = descriptor_, is_regular = is_regular_] { return sync(*file, is_regular); });
    comm::on_first_rank(communicator_, [this] { check_length(); });
  }
  // Network file systems report late errors here.
  on_disks([file = descriptor_] { return file->close(); });
}

void CollectiveFile::check_length() const {
  struct stat status {};
  if (::fstat(descriptor_->get(), &status) != 0) fail(errno);
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

}  // namespace halocline::files
