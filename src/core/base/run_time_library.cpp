// SPDX-License-Identifier: Apache-2.0
#include "base/run_time_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace halocline {
namespace {

std::string path_of(void* handle, const char* name) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && *map->l_name != '\0') return map->l_name;
  return name;
}

}  // namespace

std::vector<std::filesystem::path> folders_of_loader(const Variables& variables,
                                                     const std::filesystem::path& root,
                                                     const std::filesystem::path& beside) {
  std::vector<std::filesystem::path> folders;
  std::istringstream search_path(value_of(variables, "LD_LIBRARY_PATH"));
  for (std::string folder; std::getline(search_path, folder, ':');)
    if (!folder.empty()) folders.emplace_back(folder);
  if (!beside.empty()) folders.push_back(beside.parent_path());
  for (const char* folder :
       {"lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu",
        "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib", "usr/local/lib"})
    folders.push_back(root / folder);
  return folders;
}

std::optional<FoundLibrary> find_library(const LibraryToFind& wanted, const Variables& variables) {
  if (void* handle = ::dlopen(wanted.file.name, RTLD_NOW | RTLD_NOLOAD)) {
    FoundLibrary found{path_of(handle, wanted.file.name), "the program"};
    ::dlclose(handle);
    return found;
  }
  if (const std::string named = value_of(variables, wanted.variable); !named.empty())
    return FoundLibrary{named, wanted.variable};
  if (auto packaged = path_in_packages(wanted.file, variables); !packaged.empty())
    return FoundLibrary{std::move(packaged), "its Python package"};
  for (const std::filesystem::path& folder : folders_of_loader(variables)) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / wanted.file.name, ignored))
      return FoundLibrary{folder / wanted.file.name, "the loader"};
  }
  return std::nullopt;
}

LoadedLibrary load_library(const LibraryToFind& wanted, const Variables& variables) {
  LoadedLibrary loaded;
  const std::optional<FoundLibrary> found = find_library(wanted, variables);
  loaded.found = found.value_or(FoundLibrary{wanted.file.name, "the loader"});
  loaded.handle = ::dlopen(loaded.found.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded.handle != nullptr) {
    loaded.found.file = path_of(loaded.handle, wanted.file.name);
    return loaded;
  }
  const char* const error = ::dlerror();
  loaded.why_not =
      found ? fmt::format("'{}' of {} cannot be loaded: {}", found->file.string(), found->by, error)
            : fmt::format("no {} was found; {}, or set {} to the path of its file",
                          wanted.file.name, wanted.how_to_get, wanted.variable);
  return loaded;
}

void* Symbols::find(const char* name) {
  void* const found = ::dlsym(handle_, name);
  if (found == nullptr) missing_.emplace_back(name);
  return found;
}

}  // namespace halocline
