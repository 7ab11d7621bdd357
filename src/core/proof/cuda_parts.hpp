// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether the libraries below MPI include CUDA support: those of most distributions do not.

#include <filesystem>

#include "base/process/variables.hpp"

namespace halocline::proof {

/// Returns the folder with the modules of a libucp's UCX.
std::filesystem::path ucx_modules(const std::filesystem::path& libucp, const Variables& variables);

/// Returns the CUDA module in that folder; empty if there is none.
std::filesystem::path cuda_module_in(const std::filesystem::path& modules);

/// Returns whether a libfabric can distinguish GPU memory from host memory: its file then contains
/// the names of CUDA's libraries, which it links to or opens. Its other strings are the same
/// without CUDA. Takes about 1 ms.
bool libfabric_knows_cuda(const std::filesystem::path& libfabric);

}  // namespace halocline::proof
