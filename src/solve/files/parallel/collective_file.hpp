// SPDX-License-Identifier: Apache-2.0
#pragma once
// One file that all ranks read or write, each a part of it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/error.hpp>

#include "base/files/descriptor.hpp"
#include "files/parallel/disk_work.hpp"
#include "files/parallel/file_rounds.hpp"

namespace halocline::files {

struct FileToOpen {
  enum class Access { read, write };
  std::string path;  ///< rank 0's is used, relative to rank 0's working folder
  Access access = Access::read;
  std::string name_in_errors = {};  ///< empty: the path
};

/// Bytes at a place in a file.
struct FilePiece {
  std::int64_t offset_bytes = 0;
  std::string bytes;
};

/// An open file that all ranks access. All calls are collective. All ranks throw the same errors,
/// which name the file and the system's reason: usage if another path would help, resource for a
/// full or broken disk, communication for a rank that does not answer: a disk may take any time,
/// but a rank that is stopped or lost is waited for no longer than the wait limit.
class CollectiveFile {
 public:
  /// Creates a file to be written if it does not exist, and keeps its content. A file to be read
  /// must be a regular one.
  CollectiveFile(const Communicator& communicator, const FileToOpen& file);

  /// Returns the length of the file when it was opened.
  std::int64_t bytes() const { return bytes_; }
  /// Reads the first `most_bytes`, or all of a shorter file; every rank gets them.
  std::string read_start(std::int64_t most_bytes);
  /// Writes rank 0's pieces, in their order. For what is small.
  void write_on_first(const std::vector<FilePiece>& pieces);

  /// Writes the whole array; each rank passes the cells that it holds, and together these must be
  /// all cells, each once. Reserves the space on the disk first. Uses 16 MiB of memory for any
  /// size. Returns the hash of all elements (base/hash.hpp), the same on every rank.
  std::uint64_t write(const ArrayInFile& array, const PartInMemory& part);
  /// Reads the cells that each rank holds. Uses 16 MiB, more if ranks hold the same cells. After an
  /// error it is unspecified which cells were read. Returns the hash of all elements of the array.
  std::uint64_t read(const ArrayInFile& array, const PartInMemory& part);

  /// Waits until all data is on the disk, however slow that is, and closes the file. A file
  /// destroyed without this call may be incomplete.
  void close();

 private:
  void open();
  void look_at_type();
  void reserve(const ArrayInFile& array);
  void finish(DiskWork& work);
  void on_disks(const std::function<int()>& work);
  void check_length() const;
  [[noreturn]] void fail(int error) const;
  [[noreturn]] void fail(ErrorKind kind, const std::string& reason) const;

  Communicator communicator_;
  FileToOpen file_;
  std::shared_ptr<Descriptor> descriptor_;
  bool is_regular_ = true;
  std::int64_t bytes_ = 0;
  int tag_ = 0;
  std::int64_t written_to_ = 0;  ///< the end of all that was written
};

}  // namespace halocline::files
