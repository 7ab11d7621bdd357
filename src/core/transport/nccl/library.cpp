// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/library.hpp"

#include <dlfcn.h>

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/process/variables.hpp"

namespace halocline::transport::nccl {
namespace {

// The first versions with memory registered for all ranks, and with addresses of peers' memory.
constexpr int windows_from = 22700, pointers_from = 22902;

void find_all(Symbols& symbols, Library& library) {
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
  if (library.version >= windows_from) {
    symbols.find("ncclMemAlloc", library.mem_alloc);
    symbols.find("ncclMemFree", library.mem_free);
    symbols.find("ncclCommWindowRegister", library.window_register);
    symbols.find("ncclCommWindowDeregister", library.window_deregister);
  }
  if (library.version >= pointers_from)
    symbols.find("ncclGetPeerDevicePointer", library.peer_pointer);
}

struct Loaded {
  std::optional<Library> library;
  std::string why_not;
};

Loaded load() {
  const Variables variables = current_variables();
  const LoadedLibrary opened =
      load_library(library_to_find, files_to_load(library_to_find, variables));
  if (!opened.problem.empty()) return {std::nullopt, why_not(library_to_find, opened)};
  Library library{.path = opened.found.file.string(),
                  .found_by = opened.found.by,
                  .version = version_number(opened.version)};
  Symbols symbols(opened.handle);
  find_all(symbols, library);
  return {std::move(library), ""};
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

}  // namespace

std::string library_version(void* handle) {
  using GetVersion = int(int*);
  auto* const get = reinterpret_cast<GetVersion*>(::dlsym(handle, "ncclGetVersion"));
  int version = 0;
  return get == nullptr || get(&version) != success ? "" : version_text(version);
}

std::string library_problem(void* handle) {
  Library library;
  library.version = version_number(library_version(handle));
  Symbols symbols(handle);
  find_all(symbols, library);
  return symbols.problem();
}

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

const Library* loaded_library() {
  const Loaded& all = loaded();
  return all.library ? &*all.library : nullptr;
}

std::string why_no_library() { return loaded().why_not; }

}  // namespace halocline::transport::nccl
