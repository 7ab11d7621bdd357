#include "doctor/libraries.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>

#include <fmt/format.h>

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

struct Row {
  const char* name;
  const char* file;
  std::string (*version)(void*);
};

constexpr Row rows[] = {{"NCCL", "libnccl.so.2", nccl_version},
                        {"NVSHMEM", "libnvshmem_host.so.3", no_version},
                        {"UCX", "libucp.so.0", ucx_version},
                        {"libfabric", "libfabric.so.1", libfabric_version}};

}  // namespace

std::vector<Library> find_libraries(const std::function<void(const std::string&)>& before) {
  std::vector<Library> found;
  for (const Row& row : rows) {
    before(row.file);
    Library library{.name = row.name, .path = {}, .version = {}};
    if (void* handle = ::dlopen(row.file, RTLD_LAZY | RTLD_LOCAL)) {
      link_map* map = nullptr;
      if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) library.path = map->l_name;
      if (library.path.empty()) library.path = row.file;
      library.version = row.version(handle);
    }
    found.push_back(std::move(library));
  }
  return found;
}

}  // namespace halocline::doctor
