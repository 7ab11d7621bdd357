// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/package_folders.hpp"
#include "base/variables.hpp"

namespace halocline::transport::nccl {
namespace {

constexpr PackagedFile file{"libnccl.so.2", "nvidia/nccl/lib", "nccl/lib"};

struct Loaded {
  std::optional<Library> library;
  std::string why_not;
};

/// A file that is open, and who named it.
struct Opened {
  void* handle = nullptr;
  std::string found_by;
};

/// A file, and who named it.
struct Found {
  std::filesystem::path file;
  const char* by = "";
};

std::string path_of(void* handle) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && *map->l_name != '\0') return map->l_name;
  return file.name;
}

/// Where to look, before the loader's own configuration. Two NCCLs in one process can damage each
/// other's communicators, so one that is there counts.
std::optional<Found> find_file(const Variables& variables) {
  if (void* handle = ::dlopen(file.name, RTLD_NOW | RTLD_NOLOAD)) {
    const Found found{path_of(handle), "the program"};
    ::dlclose(handle);
    return found;
  }
  if (const std::string named = value_of(variables, library_variable); !named.empty())
    return Found{named, library_variable};
  if (auto packaged = path_in_packages(file, variables); !packaged.empty())
    return Found{std::move(packaged), "its Python package"};
  return std::nullopt;
}

/// What is wrong with the file is in `why_not`.
Opened open_file(const Variables& variables, std::string& why_not) {
  const std::optional<Found> found = find_file(variables);
  const std::string name = found ? found->file.string() : file.name;
  if (void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
    return {handle, found ? found->by : "the loader"};
  const char* const error = ::dlerror();
  why_not = found ? fmt::format("'{}' of {} cannot be loaded: {}", name, found->by, error)
                  : fmt::format(
                        "no {} was found; install NCCL (PyPI: nvidia-nccl-cu13; Debian: "
                        "libnccl2), or set {} to the path of its file",
                        name, library_variable);
  return {};
}

/// Looks functions up, all of them, so that a file that lacks some is refused at once.
class Symbols {
 public:
  explicit Symbols(void* handle) : handle_(handle) {}

  template <class Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(handle_, name));
    if (function == nullptr) missing_.emplace_back(name);
  }
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  void* handle_;
  std::vector<std::string> missing_;
};

Loaded load() {
  Loaded loaded;
  const Opened opened = open_file(current_variables(), loaded.why_not);
  if (opened.handle == nullptr) return loaded;
  Library library{.path = path_of(opened.handle), .found_by = opened.found_by};
  // The version first: an old one lacks functions, too, and that is the reason to give.
  using GetVersion = int(int*);
  auto* const get_version = reinterpret_cast<GetVersion*>(::dlsym(opened.handle, "ncclGetVersion"));
  if (get_version == nullptr || get_version(&library.version) != success) {
    loaded.why_not = fmt::format("'{}' does not tell its version: it is no NCCL", library.path);
    return loaded;
  }
  if (library.version < oldest_version) {
    loaded.why_not =
        fmt::format("NCCL {} at '{}' is too old: {} is needed", version_text(library.version),
                    library.path, version_text(oldest_version));
    return loaded;
  }
  Symbols symbols(opened.handle);
  symbols.find("ncclGetUniqueId", library.get_unique_id);
  symbols.find("ncclCommInitRank", library.comm_init_rank);
  symbols.find("ncclCommDestroy", library.comm_destroy);
  symbols.find("ncclCommAbort", library.comm_abort);
  symbols.find("ncclCommGetAsyncError", library.comm_get_async_error);
  symbols.find("ncclGroupStart", library.group_start);
  symbols.find("ncclGroupEnd", library.group_end);
  symbols.find("ncclSend", library.send);
  symbols.find("ncclRecv", library.receive);
  symbols.find("ncclAllGather", library.all_gather);
  symbols.find("ncclGetErrorString", library.error_text);
  symbols.find("ncclGetLastError", library.last_error);
  if (!symbols.missing().empty()) {
    loaded.why_not = fmt::format("NCCL {} at '{}' lacks {}", version_text(library.version),
                                 library.path, fmt::join(symbols.missing(), ", "));
    return loaded;
  }
  loaded.library = std::move(library);
  return loaded;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

}  // namespace

std::string version_text(int version) {
  // Up to 2.8 the number was 2804, from 2.9 on 20900.
  return version < 10000
             ? fmt::format("{}.{}.{}", version / 1000, version / 100 % 10, version % 100)
             : fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string error_text(const Library& library, int result, const char* call) {
  const char* const last = library.last_error(nullptr);
  const std::string why = last != nullptr ? last : "";
  return fmt::format("{}: {}{}{} (NCCL {} at '{}')", call, library.error_text(result),
                     why.empty() ? "" : ": ", why, version_text(library.version), library.path);
}

std::filesystem::path file_to_load() {
  const std::optional<Found> found = find_file(current_variables());
  return found ? found->file : std::filesystem::path();
}

const Library* loaded_library() {
  const Loaded& all = loaded();
  return all.library ? &*all.library : nullptr;
}

std::string why_no_library() { return loaded().why_not; }

}  // namespace halocline::transport::nccl
