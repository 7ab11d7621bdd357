// SPDX-License-Identifier: Apache-2.0
#pragma once
// Third-party libraries for communication, kernel compilation and file formats, as programs here
// would find them.

#include <functional>
#include <string>
#include <vector>

#include "doctor/facts.hpp"

namespace halocline::doctor {

/// As Library::name.
inline constexpr const char* nccl_plugin = "NCCL network plug-in";
inline constexpr const char* kernel_compiler = "NVRTC";
inline constexpr const char* file_library = "HDF5";
/// The variable that names NCCL's network plug-ins.
inline constexpr const char* plugin_variable = "NCCL_NET_PLUGIN";

/// Loads NCCL and its network plug-in, NVSHMEM, UCX, libfabric, NVRTC and HDF5. Since loading may
/// crash or hang, `before` is called with each name first.
std::vector<Library> find_libraries(const Variables& variables,
                                    const std::function<void(const std::string&)>& before);

/// Looks only for libraries that Halocline itself loads.
std::vector<Library> find_own_libraries(const Variables& variables);

/// "install NCCL 2.12.10 or later (...), or set ..."; empty for libraries that Halocline does not
/// load.
std::string how_to_get(const Library& library);

/// "NCCL was not found; install NCCL ..."; empty if it can be used.
std::string why_not_usable(const Library& library);

/// "NCCL 2.28.9: /usr/lib/libnccl.so.2, found by the loader".
std::string words_for(const Library& library);

}  // namespace halocline::doctor
