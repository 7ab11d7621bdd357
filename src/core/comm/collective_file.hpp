// SPDX-License-Identifier: Apache-2.0
#pragma once
// One file, read or written by all ranks: each touches only a part of it.

#include <cstdint>
#include <string>
#include <string_view>

#include <halocline/communicator.hpp>
#include <halocline/error.hpp>

#include "base/descriptor.hpp"
#include "comm/file_rounds.hpp"

namespace halocline::comm {

struct FileToOpen {
  enum class Access { read, write };
  std::string path;  ///< rank 0's counts, from rank 0's working folder
  Access access = Access::read;
  std::string name_in_errors = {};  ///< left out, the path
};

/// An open file that all ranks see. Everything is collective. Errors are thrown on every rank
/// alike, naming the file and the system's reason: usage for what another path would fix,
/// resource for a full or broken disk, communication for a rank that does not answer.
class CollectiveFile {
 public:
  /// A file to be written is created if it is not there; what it holds stays. A file to be read
  /// must be a regular one.
  CollectiveFile(const Communicator& communicator, const FileToOpen& file);

  /// How long the file was when it was opened.
  std::int64_t bytes() const { return bytes_; }
  /// Reads the first `most_bytes`, or all of a shorter file; every rank gets them.
  std::string read_start(std::int64_t most_bytes);
  /// Writes rank 0's `text` at the file's beginning.
  void write_start(std::string_view text);

  /// Writes the whole array, of which each rank gives the cells that it holds: together all,
  /// each of them once. Asks for the space on the disk before it begins. Takes 12 MiB of memory
  /// for any size.
  void write(const ArrayInFile& array, const PartInMemory& part);
  /// Reads for each rank the cells that it holds. Takes 12 MiB, more if ranks hold the same
  /// cells. After an error it is not specified which cells were read.
  void read(const ArrayInFile& array, const PartInMemory& part);

  /// Waits until everything written is on the disk, for as long as that takes, and closes. A
  /// file that is destroyed without may be incomplete.
  void close();

 private:
  void open();
  void look_at_type();
  void reserve(const ArrayInFile& array);
  void finish_leg(int error);
  int sync() const;
  void check_length() const;
  [[noreturn]] void fail(int error) const;
  [[noreturn]] void fail(ErrorKind kind, const std::string& reason) const;

  Communicator communicator_;
  FileToOpen file_;
  Descriptor descriptor_;
  bool is_regular_ = true;
  std::int64_t bytes_ = 0;
  std::int64_t written_to_ = 0;  ///< the end of all that was written
};

}  // namespace halocline::comm
