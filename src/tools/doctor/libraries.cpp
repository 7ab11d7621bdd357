// SPDX-License-Identifier: Apache-2.0
#include "doctor/libraries.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/libraries/run_time_library.hpp"
#include "compiler/compiler_files.hpp"
#include "device/gpu.hpp"
#include "files/hdf5.hpp"
#include "proof/cuda_parts.hpp"
#include "transport/nccl/library.hpp"
#include "transport/nvshmem/library.hpp"

namespace halocline::doctor {
namespace {

namespace fs = std::filesystem;

template <class Function>
Function* function(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
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
  LibraryToFind wanted;
  bool (*has_cuda)(const std::string& path,
                   const Variables& variables) = nullptr;  ///< null: always
};

// Wheels: nvidia-nccl-cu13, nvidia-nvshmem-cu13, libucx-cu13 and those for earlier CUDA versions.
constexpr Row rows[] = {
    {transport::nccl::library_to_find},
    {transport::nvshmem::library_to_find},
    {{"UCX", {"libucp.so.0", "libucx/lib", ""}, nullptr, nullptr, ucx_version, nullptr},
     ucx_has_cuda},
    {{"libfabric", {"libfabric.so.1", "", ""}, nullptr, nullptr, libfabric_version, nullptr},
     libfabric_has_cuda}};

bool is_ours(const Row& row) { return row.wanted.variable != nullptr; }

/// Returns the search for a library that Halocline itself loads; nothing for others.
std::optional<LibraryToFind> own_library(const std::string& name) {
  for (const Row& row : rows)
    if (is_ours(row) && name == row.wanted.name) return row.wanted;
  if (name == kernel_compiler) return compiler::find_compiler("", {}).wanted;
  if (name == file_library) return files::hdf5::find_library({}).wanted;
  return std::nullopt;
}

bool is_of_program(const std::vector<FoundLibrary>& files) {
  return !files.empty() && files.front().by == by_program;
}

/// Loads a library by name as MPI would, or by path if only packages have it.
Library look_for(const Row& row, const std::vector<FoundLibrary>& files,
                 const Variables& variables) {
  Library library{
      .name = row.wanted.name, .path = {}, .version = {}, .is_mpis = is_of_program(files)};
  LoadedLibrary loaded = open_library(row.wanted, {row.wanted.file.name, ""});
  if (loaded.handle == nullptr) {
    const auto packaged = std::find_if(
        files.begin(), files.end(), [](const FoundLibrary& file) { return file.by == by_package; });
    if (packaged == files.end()) return library;
    library.is_off_path = true;
    loaded = open_library(row.wanted, *packaged);
  }
  library.path = loaded.found.file.string();
  library.version = loaded.version;
  library.problem = loaded.problem;
  if (loaded.handle != nullptr) library.has_cuda = row.has_cuda(library.path, variables);
  return library;
}

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return a == b || fs::equivalent(a, b, ignored);
}

/// Looks for a library as Halocline itself does.
Library look_as_halocline(const LibraryToFind& wanted, const std::vector<FoundLibrary>& files) {
  Library library{.name = wanted.name, .path = {}, .version = {}, .is_mpis = is_of_program(files)};
  const LoadedLibrary taken = load_library(wanted, files);
  library.problem = taken.problem;
  if (taken.found.file.empty()) return library;
  library.path = taken.found.file.string();
  library.version = taken.version;
  library.found_by = taken.found.by;
  const auto is_known = [](const FoundLibrary& file) {
    return file.by == by_program || file.by == by_loader;
  };
  library.is_off_path =
      !is_known(taken.found) && std::none_of(files.begin(), files.end(), is_known);
  // The other files are opened only for their versions.
  LibraryToFind version_of = wanted;
  version_of.problem_of = nullptr;
  std::vector<fs::path> seen{taken.found.file};
  for (const FoundLibrary& file : files) {
    if (std::any_of(seen.begin(), seen.end(),
                    [&](const fs::path& one) { return is_same_file(one, file.file); }))
      continue;
    seen.push_back(file.file);
    library.others.push_back({file.file.string(), open_library(version_of, file).version, file.by});
  }
  return library;
}

/// Looks for NCCL's network plug-in: libnccl-net.so, or those that the variable names.
Library look_for_plugin(const Variables& variables) {
  Library plugin{.name = nccl_plugin, .path = {}, .version = {}};
  const std::string named = value_of(variables, plugin_variable);
  std::istringstream names(named.empty() ? "libnccl-net.so" : named);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "none") return plugin;
    for (const std::string& file : {name, fmt::format("libnccl-net-{}.so", name)}) {
      void* const handle = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
      if (handle == nullptr) continue;
      plugin.path = path_of_loaded(handle, file);
      return plugin;
    }
  }
  if (!named.empty())
    plugin.problem = fmt::format("{} is '{}', which cannot be loaded", plugin_variable, named);
  return plugin;
}

}  // namespace

std::vector<Library> find_libraries(const Variables& variables,
                                    const std::function<void(const std::string&)>& before) {
  // Before any library is loaded, since that may load others.
  std::array<std::vector<FoundLibrary>, std::size(rows)> files;
  for (std::size_t i = 0; i < files.size(); ++i)
    files[i] = files_to_load(rows[i].wanted, variables);
  const compiler::CompilerFiles nvrtc = compiler::find_compiler(device::gpus().driver, variables);
  const files::hdf5::LibraryFiles hdf5 = files::hdf5::find_library(variables);
  std::vector<Library> found;
  for (std::size_t i = 0; i < files.size(); ++i) {
    before(rows[i].wanted.file.name);
    found.push_back(is_ours(rows[i]) ? look_as_halocline(rows[i].wanted, files[i])
                                     : look_for(rows[i], files[i], variables));
  }
  if (!found.front().path.empty()) {
    before("NCCL's network plug-in");
    found.insert(std::next(found.begin()), look_for_plugin(variables));
  }
  before(nvrtc.wanted.name);
  found.push_back(look_as_halocline(nvrtc.wanted, nvrtc.files));
  before(hdf5.wanted.file.name);
  found.push_back(look_as_halocline(hdf5.wanted, hdf5.files));
  return found;
}

std::vector<Library> find_own_libraries(const Variables& variables) {
  std::vector<Library> found;
  for (const Row& row : rows)
    if (is_ours(row))
      found.push_back(look_as_halocline(row.wanted, files_to_load(row.wanted, variables)));
  const auto [nvrtc, files] = compiler::find_compiler(device::gpus().driver, variables);
  found.push_back(look_as_halocline(nvrtc, files));
  const auto [hdf5, files_of_hdf5] = files::hdf5::find_library(variables);
  found.push_back(look_as_halocline(hdf5, files_of_hdf5));
  return found;
}

std::string how_to_get(const Library& library) {
  const std::optional<LibraryToFind> wanted = own_library(library.name);
  return wanted ? halocline::how_to_get(*wanted, {library.path, library.found_by}) : "";
}

std::string why_not_usable(const Library& library) {
  const std::optional<LibraryToFind> wanted = own_library(library.name);
  return wanted ? why_not(*wanted, {.found = {library.path, library.found_by},
                                    .version = library.version,
                                    .problem = library.problem})
                : "";
}

std::string words_for(const Library& library) {
  if (library.name == nccl_plugin && library.path.empty())
    return fmt::format("{}: none, NCCL uses its own network{}", library.name,
                       library.problem.empty() ? "" : "; " + library.problem);
  if (library.path.empty()) {
    const std::string how = how_to_get(library);
    return fmt::format("{}: not found{}", library.name, how.empty() ? "" : "; " + how);
  }
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
