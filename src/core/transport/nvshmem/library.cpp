// SPDX-License-Identifier: Apache-2.0
#include "transport/nvshmem/library.hpp"

#include <dlfcn.h>

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace halocline::transport::nvshmem {
namespace {

void find_all(Symbols& symbols, Library& library) {
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
  Library library{
      .path = opened.found.file.string(), .found_by = opened.found.by, .version = opened.version};
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
  using GetVersion = void(int*, int*, int*);
  auto* const get =
      reinterpret_cast<GetVersion*>(::dlsym(handle, "nvshmemx_vendor_get_version_info"));
  if (get == nullptr) return "";
  int major = 0, minor = 0, patch = 0;
  get(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

std::string library_problem(void* handle) {
  Library library;
  Symbols symbols(handle);
  find_all(symbols, library);
  return symbols.problem();
}

const Library* loaded_library() {
  const Loaded& all = loaded();
  return all.library ? &*all.library : nullptr;
}

std::string why_no_library() { return loaded().why_not; }

}  // namespace halocline::transport::nvshmem
