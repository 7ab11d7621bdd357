// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/library.hpp"

#include <dlfcn.h>

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/variables.hpp"

namespace halocline::transport::nccl {
namespace {

struct Loaded {
  std::optional<Library> library;
  std::string why_not;
};

Loaded load() {
  Loaded loaded;
  const LoadedLibrary opened = load_library(library_to_find, current_variables());
  loaded.why_not = opened.why_not;
  if (opened.handle == nullptr) return loaded;
  Library library{.path = opened.found.file.string(), .found_by = opened.found.by};
  // The version first: an old one lacks functions, too, and that is the reason to give.
  using GetVersion = int(int*);
  auto* const get_version = reinterpret_cast<GetVersion*>(::dlsym(opened.handle, "ncclGetVersion"));
  if (get_version == nullptr || get_version(&library.version) != success) {
    loaded.why_not = fmt::format("'{}' does not tell its version: it is not NCCL", library.path);
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

std::filesystem::path file_to_load(const Variables& variables) {
  const std::optional<FoundLibrary> found = find_library(library_to_find, variables);
  return found ? found->file : std::filesystem::path();
}

const Library* loaded_library() {
  const Loaded& all = loaded();
  return all.library ? &*all.library : nullptr;
}

std::string why_no_library() { return loaded().why_not; }

}  // namespace halocline::transport::nccl
