// SPDX-License-Identifier: Apache-2.0
#include "doctor/libraries.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/package_folders.hpp"
#include "base/run_time_library.hpp"
#include "proof/cuda_parts.hpp"
#include "transport/nccl/library.hpp"
#include "transport/nvshmem/library.hpp"

namespace halocline::doctor {
namespace {

namespace fs = std::filesystem;
namespace nccl = transport::nccl;

template <class Function>
Function* function(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

std::string nccl_version(void* library) {
  int version = 0;
  auto* get = function<int(int*)>(library, "ncclGetVersion");
  if (get == nullptr || get(&version) != 0) return "";
  return nccl::version_text(version);
}

std::string nvshmem_version(void* library) {
  auto* get = function<void(int*, int*, int*)>(library, "nvshmemx_vendor_get_version_info");
  if (get == nullptr) return "";
  int major = 0, minor = 0, patch = 0;
  get(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

std::string ucx_version(void* library) {
  auto* get = function<const char*()>(library, "ucp_get_version_string");
  return get == nullptr ? "" : get();
}

std::string libfabric_version(void* library) {
  auto* get = function<std::uint32_t()>(library, "fi_version");
  return get == nullptr ? "" : fmt::format("{}.{}", get() >> 16, get() & 0xffff);
}

bool ucx_has_cuda(const std::string& path, const Variables& variables) {
  return !proof::cuda_module_in(proof::ucx_modules(path, variables)).empty();
}

bool libfabric_has_cuda(const std::string& path, const Variables&) {
  return proof::libfabric_knows_cuda(path);
}

struct Row {
  const char* name;
  LibraryToFind wanted;  ///< no variable: Halocline does not load it
  std::string (*version)(void*);
  bool (*has_cuda)(const std::string& path, const Variables& variables);  ///< null: always
  int oldest = 0;  ///< as number_of() has it; 0: any will do
};

// Wheels: nvidia-nccl-cu13, nvidia-nvshmem-cu13, libucx-cu13 and those for earlier CUDA versions.
constexpr Row rows[] = {
    {"NCCL", nccl::library_to_find, nccl_version, nullptr, nccl::oldest_version},
    {"NVSHMEM", transport::nvshmem::library_to_find, nvshmem_version, nullptr,
     transport::nvshmem::oldest_major * 10000},
    {"UCX", {{"libucp.so.0", "libucx/lib", ""}, nullptr, nullptr}, ucx_version, ucx_has_cuda},
    {"libfabric",
     {{"libfabric.so.1", "", ""}, nullptr, nullptr},
     libfabric_version,
     libfabric_has_cuda}};

bool is_loaded(const char* file) {
  void* handle = ::dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

std::string path_of(void* handle, const char* name) {
  link_map* map = nullptr;
  const bool is_known = ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && *map->l_name != '\0';
  return is_known ? map->l_name : name;
}

std::string error_of_loading() { return fmt::format("cannot be loaded: {}", ::dlerror()); }

/// Loads a library by its name, or by its path where only packages have it: as MPI would.
Library look_for(const Row& row, bool is_mpis, const Variables& variables) {
  Library library{.name = row.name, .path = {}, .version = {}, .is_mpis = is_mpis};
  const char* const name = row.wanted.file.name;
  void* handle = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    library.path = path_in_packages(row.wanted.file, variables).string();
    if (library.path.empty()) return library;
    library.is_off_path = true;
    handle = ::dlopen(library.path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) {
      library.problem = error_of_loading();
      return library;
    }
  }
  library.path = path_of(handle, name);
  library.version = row.version(handle);
  library.has_cuda = row.has_cuda(library.path, variables);
  return library;
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return a == b || fs::equivalent(a, b, ignored);
}

/// The files that load_library() may take, in its order, each once.
std::vector<LibraryFile> files_to_load(const LibraryToFind& wanted, const std::string& of_loader,
                                       bool is_mpis, const Variables& variables) {
  std::vector<LibraryFile> files;
  const auto add = [&](const std::string& path, const char* by) {
    const bool is_known = std::any_of(files.begin(), files.end(), [&](const LibraryFile& file) {
      return is_same_file(file.path, path);
    });
    if (!path.empty() && !is_known) files.push_back({path, "", by});
  };
  if (is_mpis) add(of_loader, "the program");
  add(value_of(variables, wanted.variable), wanted.variable);
  add(path_in_packages(wanted.file, variables).string(), "its Python package");
  add(of_loader, "the loader");
  return files;
}

/// Looks for a library as Halocline itself does.
Library look_as_transports(const Row& row, bool is_mpis, const Variables& variables) {
  Library library{.name = row.name, .path = {}, .version = {}, .is_mpis = is_mpis};
  // By its name before others by their paths: these would answer to the name from then on.
  std::string of_loader;
  if (void* handle = ::dlopen(row.wanted.file.name, RTLD_LAZY | RTLD_LOCAL))
    of_loader = path_of(handle, row.wanted.file.name);
  std::vector<LibraryFile> files = files_to_load(row.wanted, of_loader, is_mpis, variables);
  if (files.empty()) {
    library.problem = fmt::format("{}, or set {} to the path of its file", row.wanted.how_to_get,
                                  row.wanted.variable);
    return library;
  }
  for (LibraryFile& file : files) {
    void* const handle = ::dlopen(file.path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    const bool is_first = &file == &files.front();
    if (handle == nullptr && is_first) library.problem = error_of_loading();
    if (handle == nullptr) continue;
    file.version = row.version(handle);
    if (!is_first) continue;
    if (file.version.empty())
      library.problem = fmt::format("does not tell its version: it is no {}", row.name);
    else if (number_of(file.version) < row.oldest)
      library.problem = fmt::format("too old: {} is needed", nccl::version_text(row.oldest));
  }
  library.path = files.front().path;
  library.version = files.front().version;
  library.found_by = files.front().found_by;
  library.is_off_path = of_loader.empty();
  library.others.assign(std::next(files.begin()), files.end());
  return library;
}

/// Looks for the plug-in that NCCL would use the network by: libnccl-net.so, or those that the
/// variable names.
Library look_for_plugin(const Variables& variables) {
  Library plugin{.name = nccl_plugin, .path = {}, .version = {}};
  const std::string named = value_of(variables, plugin_variable);
  std::istringstream names(named.empty() ? "libnccl-net.so" : named);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "none") return plugin;
    for (const std::string& file : {name, fmt::format("libnccl-net-{}.so", name)}) {
      void* const handle = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
      if (handle == nullptr) continue;
      plugin.path = path_of(handle, file.c_str());
      return plugin;
    }
  }
  if (!named.empty())
    plugin.problem = fmt::format("{} is '{}', which cannot be loaded", plugin_variable, named);
  return plugin;
}

}  // namespace

int number_of(const std::string& version) {
  std::array<int, 3> parts{};
  std::istringstream text(version);
  for (int& part : parts) {
    text >> part;
    text.ignore();  // the point
  }
  return (parts[0] * 100 + parts[1]) * 100 + parts[2];
}

std::vector<Library> find_libraries(const Variables& variables,
                                    const std::function<void(const std::string&)>& before) {
  // Before any is loaded here, which may bring others along.
  std::array<bool, std::size(rows)> are_mpis{};
  for (std::size_t i = 0; i < std::size(rows); ++i)
    are_mpis[i] = is_loaded(rows[i].wanted.file.name);
  std::vector<Library> found;
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    before(rows[i].wanted.file.name);
    const bool is_ours = rows[i].wanted.variable != nullptr;
    found.push_back((is_ours ? look_as_transports : look_for)(rows[i], are_mpis[i], variables));
  }
  if (!found.front().path.empty()) {
    before("NCCL's network plug-in");
    found.insert(std::next(found.begin()), look_for_plugin(variables));
  }
  return found;
}

std::vector<Library> find_transport_libraries(const Variables& variables) {
  std::vector<Library> found;
  for (const Row& row : rows)
    if (row.wanted.variable != nullptr)
      found.push_back(look_as_transports(row, is_loaded(row.wanted.file.name), variables));
  return found;
}

std::string why_not_usable(const Library& library) {
  if (library.problem.empty() && !library.path.empty()) return "";
  if (library.path.empty())
    return fmt::format("{} was not found; {}", library.name, library.problem);
  return fmt::format("{}{}{} at '{}': {}", library.name, library.version.empty() ? "" : " ",
                     library.version, library.path, library.problem);
}

std::string words_for(const Library& library) {
  const std::string problem = library.problem.empty() ? "" : "; " + library.problem;
  if (library.path.empty())
    return fmt::format(
        "{}: {}{}", library.name,
        library.name == nccl_plugin ? "none, NCCL uses its own network" : "not found", problem);
  std::string words = library.name;
  if (!library.version.empty()) words += " " + library.version;
  if (library.has_cuda)
    words += *library.has_cuda ? " with its CUDA part" : " without its CUDA part";
  words += ": " + library.path;
  if (library.is_mpis)
    words += ", loaded by MPI";
  else if (!library.found_by.empty())
    words += ", found by " + library.found_by;
  if (library.is_off_path)
    words += fmt::format(", {} only with its folder in LD_LIBRARY_PATH",
                         library.found_by.empty() ? "usable" : "usable by other programs");
  if (!library.problem.empty()) words += ", " + library.problem;
  for (const LibraryFile& other : library.others)
    words += fmt::format(" (not taken: {}{}, found by {})", other.path,
                         other.version.empty() ? "" : ", " + other.version, other.found_by);
  return words;
}

}  // namespace halocline::doctor
