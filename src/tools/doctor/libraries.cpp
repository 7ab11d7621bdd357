// SPDX-License-Identifier: Apache-2.0
#include "doctor/libraries.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "base/package_folders.hpp"
#include "proof/cuda_parts.hpp"

namespace halocline::doctor {
namespace {

template <class Function>
Function* function(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

std::string nccl_version(void* library) {
  int version = 0;
  auto* get = function<int(int*)>(library, "ncclGetVersion");
  if (get == nullptr || get(&version) != 0) return "";
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string ucx_version(void* library) {
  auto* get = function<const char*()>(library, "ucp_get_version_string");
  return get == nullptr ? "" : get();
}

std::string libfabric_version(void* library) {
  auto* get = function<std::uint32_t()>(library, "fi_version");
  return get == nullptr ? "" : fmt::format("{}.{}", get() >> 16, get() & 0xffff);
}

std::string no_version(void*) { return ""; }

bool ucx_has_cuda(const std::string& path, const Variables& variables) {
  return !proof::cuda_module_in(proof::ucx_modules(path, variables)).empty();
}

bool libfabric_has_cuda(const std::string& path, const Variables&) {
  return proof::libfabric_knows_cuda(path);
}

struct Row {
  const char* name;
  PackagedFile file;
  std::string (*version)(void*);
  bool (*has_cuda)(const std::string& path, const Variables& variables);  ///< null: always
};

// Wheels: nvidia-nccl-cu13, nvidia-nvshmem-cu13, libucx-cu13 and their elders.
constexpr Row rows[] = {
    {"NCCL", {"libnccl.so.2", "nvidia/nccl/lib", "nccl/lib"}, nccl_version, nullptr},
    {"NVSHMEM", {"libnvshmem_host.so.3", "nvidia/nvshmem/lib", "nvshmem/lib"}, no_version, nullptr},
    {"UCX", {"libucp.so.0", "libucx/lib", ""}, ucx_version, ucx_has_cuda},
    {"libfabric", {"libfabric.so.1", "", ""}, libfabric_version, libfabric_has_cuda}};

bool is_loaded(const char* file) {
  void* handle = ::dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

/// Loads a library by its name, or by its path where only packages have it.
Library look_for(const Row& row, bool is_mpis, const Variables& variables) {
  Library library{.name = row.name, .path = {}, .version = {}, .is_mpis = is_mpis};
  void* handle = ::dlopen(row.file.name, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    library.path = path_in_packages(row.file, variables).string();
    if (library.path.empty()) return library;
    library.is_off_path = true;
    handle = ::dlopen(library.path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) {
      library.problem = ::dlerror();
      return library;
    }
  }
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) library.path = map->l_name;
  if (library.path.empty()) library.path = row.file.name;
  library.version = row.version(handle);
  if (row.has_cuda != nullptr) library.has_cuda = row.has_cuda(library.path, variables);
  return library;
}

}  // namespace

std::vector<Library> find_libraries(const Variables& variables,
                                    const std::function<void(const std::string&)>& before) {
  // Before any is loaded here, which may bring others along.
  std::array<bool, std::size(rows)> are_mpis{};
  for (std::size_t i = 0; i < std::size(rows); ++i) are_mpis[i] = is_loaded(rows[i].file.name);
  std::vector<Library> found;
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    before(rows[i].file.name);
    found.push_back(look_for(rows[i], are_mpis[i], variables));
  }
  return found;
}

}  // namespace halocline::doctor
