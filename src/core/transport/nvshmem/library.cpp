// SPDX-License-Identifier: Apache-2.0
#include "transport/nvshmem/library.hpp"

#include <dlfcn.h>

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace halocline::transport::nvshmem {
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
  Library library{.path = opened.found.file.string(), .found_by = opened.found.by, .version = {}};
  using GetVersion = void(int*, int*, int*);
  auto* const get_version =
      reinterpret_cast<GetVersion*>(::dlsym(opened.handle, "nvshmemx_vendor_get_version_info"));
  if (get_version == nullptr) {
    loaded.why_not = fmt::format(
        "'{}' does not tell its version: it is not NVSHMEM, or older than "
        "{}, which is needed",
        library.path, oldest_major);
    return loaded;
  }
  int major = 0, minor = 0, patch = 0;
  get_version(&major, &minor, &patch);
  library.version = fmt::format("{}.{}.{}", major, minor, patch);
  if (major < oldest_major) {
    loaded.why_not = fmt::format("NVSHMEM {} at '{}' is too old: {}.0.0 is needed", library.version,
                                 library.path, oldest_major);
    return loaded;
  }
  Symbols symbols(opened.handle);
  symbols.find("nvshmemx_get_uniqueid", library.get_unique_id);
  symbols.find("nvshmemx_set_attr_uniqueid_args", library.set_attributes);
  symbols.find("nvshmemx_hostlib_init_attr", library.init);
  symbols.find("nvshmemx_init_status", library.init_status);
  symbols.find("nvshmemx_hostlib_finalize", library.finalize);
  symbols.find("nvshmem_align", library.align);
  symbols.find("nvshmem_free", library.free);
  symbols.find("nvshmem_ptr", library.pointer);
  symbols.find("nvshmemx_putmem_signal_on_stream", library.put_and_signal);
  symbols.find("nvshmemx_signal_op_on_stream", library.signal);
  symbols.find("nvshmemx_signal_wait_until_on_stream", library.wait);
  if (!symbols.missing().empty()) {
    loaded.why_not = fmt::format("NVSHMEM {} at '{}' lacks {}", library.version, library.path,
                                 fmt::join(symbols.missing(), ", "));
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

const Library* loaded_library() {
  const Loaded& all = loaded();
  return all.library ? &*all.library : nullptr;
}

std::string why_no_library() { return loaded().why_not; }

std::filesystem::path file_to_load(const Variables& variables) {
  const std::optional<FoundLibrary> found = find_library(library_to_find, variables);
  return found ? found->file : std::filesystem::path();
}

}  // namespace halocline::transport::nvshmem
