// SPDX-License-Identifier: Apache-2.0
#pragma once
// Libraries that are found and loaded when the program runs: neither they nor their headers are
// needed to build.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/libraries/package_folders.hpp"
#include "base/process/variables.hpp"

namespace halocline {

/// A library to find, the places to search, and the versions that will do.
struct LibraryToFind {
  const char* name;      ///< "NCCL"
  PackagedFile file;     ///< as Python packages bring it
  const char* variable;  ///< with the path of the file to take; null: Halocline does not load it
  const char* packages;  ///< "PyPI: nvidia-nccl-cu13; Debian: libnccl2"
  std::string (*version_of)(void* handle);  ///< "2.28.9"; empty if it does not report one
  const char* oldest;                       ///< "2.12.10"; null: any will do
  /// Returns what else is wrong, as LoadedLibrary::problem; not called for one that is too old.
  /// Null: nothing else is checked.
  std::string (*problem_of)(void* handle) = nullptr;
};

/// Returns the folders in which the loader looks, as far as they can be known without it: those of
/// LD_LIBRARY_PATH, that of `library`, which may have others in its folder, those of
/// /etc/ld.so.conf, the usual ones; the last two below `root`.
std::vector<std::filesystem::path> folders_of_loader(const Variables& variables,
                                                     const std::filesystem::path& root = "/",
                                                     const std::filesystem::path& library = {});

// Values of FoundLibrary::by, in addition to names of variables.
inline constexpr const char* by_program = "the program";  ///< has loaded it already
inline constexpr const char* by_package = "its Python package";
inline constexpr const char* by_loader = "the loader";

/// A file, and who named it.
struct FoundLibrary {
  std::filesystem::path file = {};  ///< empty: none was found
  std::string by = {};
};

/// Returns the files that there are, without loading one, in the order in which load_library()
/// prefers them; a file that several name is there several times. The copy that the program has
/// loaded comes first: two copies in one process can damage each other's data. `root` is put before
/// folders that all programs share.
std::vector<FoundLibrary> files_to_load(const LibraryToFind& wanted, const Variables& variables,
                                        const std::filesystem::path& root = "/");

/// Returns the path of the first of them; empty if there is none.
std::filesystem::path file_to_load(const LibraryToFind& wanted, const Variables& variables);

/// 22809 for "2.28.9"; 0 for "".
int version_number(const std::string& version);

struct LoadedLibrary {
  void* handle = nullptr;  ///< of dlopen(); null if there is none
  FoundLibrary found = {};
  std::string version = {};
  std::string problem = {};  ///< "is too old: 2.12.10 is needed"; empty: it can be used
};

/// Loads a file for good, or what the loader takes for a name without a folder.
LoadedLibrary open_library(const LibraryToFind& wanted, const FoundLibrary& file);

/// Loads the first of `found`, of files_to_load(); if it is empty, what the loader knows beyond.
LoadedLibrary load_library(const LibraryToFind& wanted, const std::vector<FoundLibrary>& found);

/// "install NCCL 2.12.10 or later (PyPI: ...), or set HALOCLINE_NCCL to the path of its file"; for
/// libraries with a variable.
std::string how_to_get(const LibraryToFind& wanted, const FoundLibrary& instead_of);

/// "NCCL 2.10.3 at '...' is too old: 2.12.10 is needed; install NCCL 2.12.10 or later
/// (PyPI: ...), or ..."; empty if it can be used.
std::string why_not(const LibraryToFind& wanted, const LoadedLibrary& loaded);

/// Returns where the file of a handle of dlopen() lies; `name` if that is not known.
std::string path_of_loaded(void* handle, const std::string& name);

/// Looks functions up, all of them, so that a file that lacks some is refused at once.
class Symbols {
 public:
  explicit Symbols(void* handle) : handle_(handle) {}

  template <class Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(find(name));
  }
  /// As LoadedLibrary::problem: "lacks ncclSend, ncclRecv".
  std::string problem() const;

 private:
  void* find(const char* name);

  void* handle_;
  std::vector<std::string> missing_;
};

}  // namespace halocline
