// SPDX-License-Identifier: Apache-2.0
#pragma once
// Libraries that are found and loaded when the program runs: neither they nor their headers are
// needed to build.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/package_folders.hpp"
#include "base/variables.hpp"

namespace halocline {

/// What is searched for, and where.
struct LibraryToFind {
  PackagedFile file;       ///< as Python packages bring it
  const char* variable;    ///< with the path of the file to take
  const char* how_to_get;  ///< "install NCCL (PyPI: nvidia-nccl-cu13)"
};

/// Returns the folders in which the loader looks, as far as they can be told without it: those of
/// LD_LIBRARY_PATH, that of a library which brings others `beside` it, the usual ones below `root`.
std::vector<std::filesystem::path> folders_of_loader(const Variables& variables,
                                                     const std::filesystem::path& root = "/",
                                                     const std::filesystem::path& beside = {});

/// A file, and who named it: "the program", which has loaded it already, a variable, "its Python
/// package", "the loader".
struct FoundLibrary {
  std::filesystem::path file;
  std::string by;
};

/// Returns the file that load_library() would take, without loading it; nothing if only the loader
/// might know one. What the program has loaded comes first: two copies in one process can damage
/// each other's data.
std::optional<FoundLibrary> find_library(const LibraryToFind& wanted, const Variables& variables);

struct LoadedLibrary {
  void* handle = nullptr;  ///< of dlopen(); null if there is none
  FoundLibrary found;
  std::string why_not;
};

/// Loads it for good.
LoadedLibrary load_library(const LibraryToFind& wanted, const Variables& variables);

/// Looks functions up, all of them, so that a file that lacks some is refused at once.
class Symbols {
 public:
  explicit Symbols(void* handle) : handle_(handle) {}

  template <class Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(find(name));
  }
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  void* find(const char* name);

  void* handle_;
  std::vector<std::string> missing_;
};

}  // namespace halocline
