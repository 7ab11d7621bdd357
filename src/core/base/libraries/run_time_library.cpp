// SPDX-License-Identifier: Apache-2.0
#include "base/libraries/run_time_library.hpp"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <array>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace halocline {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_like(const fs::path& pattern) {
  std::vector<fs::path> files;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return files;
}

/// Adds the folders that a configuration file of the loader names, and those of the files that it
/// includes. The loader itself reads what ldconfig has made of them.
void add_configured(const fs::path& file, const fs::path& root, std::vector<fs::path>& folders,
                    int depth = 0) {
  constexpr int deepest = 8;  // of files that include each other
  if (depth > deepest) return;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string first, pattern;
    if (!(words >> first) || first == "hwcap") continue;
    if (first != "include") {
      folders.push_back(root / fs::path(first).relative_path());
      continue;
    }
    while (words >> pattern) {
      const fs::path wanted(pattern);
      for (const fs::path& included : files_like(
               wanted.is_absolute() ? root / wanted.relative_path() : file.parent_path() / wanted))
        add_configured(included, root, folders, depth + 1);
    }
  }
}

/// Returns where the file of this name lies that the process has loaded; empty if it has not.
fs::path loaded_already(const char* name) {
  void* const handle = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return {};
  fs::path path = path_of_loaded(handle, name);
  ::dlclose(handle);
  return path;
}

}  // namespace

std::vector<fs::path> folders_of_loader(const Variables& variables, const fs::path& root,
                                        const fs::path& library) {
  std::vector<fs::path> folders;
  std::istringstream search_path(value_of(variables, "LD_LIBRARY_PATH"));
  for (std::string folder; std::getline(search_path, folder, ':');)
    if (!folder.empty()) folders.emplace_back(folder);
  if (!library.empty()) folders.push_back(library.parent_path());
  add_configured(root / "etc/ld.so.conf", root, folders);
  for (const char* folder :
       {"lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu",
        "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib", "usr/local/lib"})
    folders.push_back(root / folder);
  return folders;
}

std::vector<FoundLibrary> files_to_load(const LibraryToFind& wanted, const Variables& variables,
                                        const fs::path& root) {
  std::vector<FoundLibrary> files;
  const auto add = [&](const fs::path& file, const char* by) {
    if (!file.empty()) files.push_back({file, by});
  };
  add(loaded_already(wanted.file.name), by_program);
  if (wanted.variable != nullptr) add(value_of(variables, wanted.variable), wanted.variable);
  add(path_in_packages(wanted.file, variables, root), by_package);
  // The loader is not asked: it would load the file, which runs code of its own, and a key of
  // proofs is made where nothing is to be loaded yet.
  for (const fs::path& folder : folders_of_loader(variables, root)) {
    std::error_code ignored;
    if (!fs::exists(folder / wanted.file.name, ignored)) continue;
    add(folder / wanted.file.name, by_loader);
    break;
  }
  return files;
}

fs::path file_to_load(const LibraryToFind& wanted, const Variables& variables) {
  const std::vector<FoundLibrary> files = files_to_load(wanted, variables);
  return files.empty() ? fs::path() : files.front().file;
}

int version_number(const std::string& version) {
  std::array<int, 3> parts{};
  std::istringstream text(version);
  for (int& part : parts) {
    text >> part;
    text.ignore();  // the point
  }
  return (parts[0] * 100 + parts[1]) * 100 + parts[2];
}

LoadedLibrary open_library(const LibraryToFind& wanted, const FoundLibrary& file) {
  LoadedLibrary loaded{.found = file};
  loaded.handle = ::dlopen(file.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded.handle == nullptr) {
    loaded.problem = fmt::format("cannot be loaded: {}", ::dlerror());
    return loaded;
  }
  loaded.found.file = path_of_loaded(loaded.handle, file.file);
  loaded.version = wanted.version_of(loaded.handle);
  if (wanted.oldest != nullptr && loaded.version.empty())
    loaded.problem = fmt::format("does not report its version: it is not {}, or older than {}",
                                 wanted.name, wanted.oldest);
  else if (wanted.oldest != nullptr &&
           version_number(loaded.version) < version_number(wanted.oldest))
    loaded.problem = fmt::format("is too old: {} is needed", wanted.oldest);
  else if (wanted.problem_of != nullptr)
    loaded.problem = wanted.problem_of(loaded.handle);
  return loaded;
}

LoadedLibrary load_library(const LibraryToFind& wanted, const std::vector<FoundLibrary>& found) {
  if (!found.empty()) return open_library(wanted, found.front());
  // The search path of this program is known only to the loader.
  LoadedLibrary loaded = open_library(wanted, {wanted.file.name, by_loader});
  if (loaded.handle == nullptr) return {.problem = "was not found"};
  return loaded;
}

std::string how_to_get(const LibraryToFind& wanted, const FoundLibrary& instead_of) {
  const std::string one =
      fmt::format("{} {} or later ({})", wanted.name, wanted.oldest, wanted.packages);
  if (instead_of.by == by_program)
    return fmt::format("the program or its MPI has loaded it: let them load {}", one);
  if (instead_of.by == wanted.variable)
    return fmt::format("set {} to the path of {}, or unset it", wanted.variable, one);
  return fmt::format("install {}, or set {} to the path of its file", one, wanted.variable);
}

std::string why_not(const LibraryToFind& wanted, const LoadedLibrary& loaded) {
  if (loaded.problem.empty()) return "";
  const bool is_there = !loaded.found.file.empty();
  return fmt::format(
      "{}{}{}{} {}; {}", wanted.name, loaded.version.empty() ? "" : " ", loaded.version,
      is_there ? fmt::format(" at '{}' (found by {})", loaded.found.file.string(), loaded.found.by)
               : "",
      loaded.problem, how_to_get(wanted, loaded.found));
}

std::string path_of_loaded(void* handle, const std::string& name) {
  link_map* map = nullptr;
  const bool is_known = ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && *map->l_name != '\0';
  return is_known ? map->l_name : name;
}

std::string Symbols::problem() const {
  return missing_.empty() ? "" : fmt::format("lacks {}", fmt::join(missing_, ", "));
}

void* Symbols::find(const char* name) {
  void* const found = ::dlsym(handle_, name);
  if (found == nullptr) missing_.emplace_back(name);
  return found;
}

}  // namespace halocline
