// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where NVRTC is, which compiles kernels when a program runs: compiler/cuda/compiler.hpp loads it.

#include <string>
#include <vector>

#include "base/libraries/run_time_library.hpp"

namespace halocline::compiler {

struct CompilerFiles {
  LibraryToFind wanted;             ///< of one CUDA version
  std::vector<FoundLibrary> files;  ///< as of files_to_load(), and that of the CUDA toolkit
};

/// Looks for the NVRTC of the driver's CUDA version ("13.0"; empty: the newest one that is known),
/// or else of an earlier one: the driver would not run a later one's code. Loads none.
CompilerFiles find_compiler(const std::string& driver, const Variables& variables);

}  // namespace halocline::compiler
