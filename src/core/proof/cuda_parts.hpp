// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether what lies below MPI comes with its part for CUDA: most distributions' does not.

#include <filesystem>

#include "base/variables.hpp"

namespace halocline::proof {

/// Returns the folder where the UCX of a libucp has its modules.
std::filesystem::path ucx_modules(const std::filesystem::path& libucp, const Variables& variables);

/// Returns the module for CUDA in there; empty if there is none.
std::filesystem::path cuda_module_in(const std::filesystem::path& modules);

/// Says whether a libfabric can tell a GPU's memory from the host's: it then names CUDA's
/// libraries, which it is linked to or opens. Its other words are the same without. Time: about 1
/// ms.
bool libfabric_knows_cuda(const std::filesystem::path& libfabric);

}  // namespace halocline::proof
