// SPDX-License-Identifier: Apache-2.0
#pragma once
// HDF5 as it is found when the program runs: neither its headers nor its library are needed to
// build. It lays out files in memory and nothing else; all ranks write the arrays themselves, where
// it has put them. It never sees the disk: HDF5 1.10 ends a program at its exit with a segmentation
// fault if a file could not be written.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/descriptor.hpp"
#include "base/libraries/run_time_library.hpp"
#include "files/parallel/collective_file.hpp"

namespace halocline::files::hdf5 {

/// Returns why no HDF5 can be used, and the remedy; nothing if one can. Loads it at the first
/// call.
std::optional<std::string> unavailable();
/// The library under the name that it has on this machine, and its files.
struct LibraryFiles {
  LibraryToFind wanted;
  std::vector<FoundLibrary> files;  ///< as of files_to_load()
};
/// Looks for it without loading it.
LibraryFiles find_library(const Variables& variables);

using Id = std::int64_t;

enum class Type { f32, f64, i64, bytes };

/// Something open in a file, closed at the end.
class Item {
 public:
  using Close = int(Id);
  Item(Id id, Close* closing) : id_(id), close_(closing) {}
  ~Item();
  Item(const Item&) = delete;
  Item& operator=(const Item&) = delete;
  Id get() const { return id_; }
  /// Returns a negative number if it fails.
  int close();

 private:
  Id id_;
  Close* close_;
};

/// A group of a file, or its root.
class Group {
 public:
  Group make_group(const std::string& name) const;
  void add_text(const std::string& attribute, std::string_view text) const;
  void add_numbers(const std::string& attribute, std::span<const std::int64_t> numbers) const;
  void add_numbers(const std::string& attribute, std::span<const double> numbers) const;
  /// An attribute that is one number, not an array of one.
  void add_number(const std::string& attribute, std::int64_t number) const;
  /// Makes a dataset whose values lie next to each other in the file, and returns the offset of the
  /// first. Their values are undefined until they are written.
  std::int64_t add_dataset(const std::string& name, Type type,
                           std::span<const std::int64_t> shape) const;
  std::int64_t add_dataset(const std::string& name, std::span<const std::int64_t> values) const;

 private:
  friend class Structure;
  explicit Group(std::shared_ptr<Item> item) : item_(std::move(item)) {}
  std::shared_ptr<Item> item_;
};

/// The structure of a new file of HDF5's, in memory. Not collective: for one rank. Throws resource,
/// with what HDF5 was to do, if it fails.
class Structure {
 public:
  /// The first `user_bytes` of the file are not HDF5's: 0, or a power of 2 from 512 on.
  explicit Structure(std::int64_t user_bytes);
  const Group& root() const { return root_; }
  /// Returns all that HDF5 has in the file, the last byte at its end. Places of arrays may be in
  /// it. Groups of it must be gone.
  std::vector<FilePiece> pieces();

 private:
  Descriptor memory_;
  Group root_;
};

}  // namespace halocline::files::hdf5
