// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of printed texts: those of some built-in problems are compiled with the program, by NVRTC
// like all others (src/prebuild.cpp, cmake/prebuilt.cmake).

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/cuda/compiler.hpp"

namespace halocline::stencil::cuda {

/// Returns a kernel of a text for the current GPU: as it was compiled with the program, or else
/// compiled now. Throws as compiler::compile().
compiler::Code code_of(const std::string& text, const std::string& kernel);
/// Returns several.
std::vector<compiler::Code> codes_of(const std::string& text,
                                     const std::vector<std::string>& kernels);

/// Returns a kernel that came with the program or was compiled before, by this run or another one
/// of this user; nothing if it has to be compiled.
std::optional<compiler::Code> code_at_hand(const std::string& text, const std::string& kernel);

/// Whether a kernel of the text, or any, came with the program, for the current GPU; if there is
/// none, no.
bool is_prebuilt(const std::string& text, const std::optional<std::string>& kernel = std::nullopt);

/// Returns a kernel that came with the program, for GPUs of that compute capability (90: 9.0).
std::optional<compiler::Code> prebuilt_code(const std::string& text, const std::string& kernel,
                                            int capability);

struct KernelOfText {
  std::string text, kernel;
};
/// Returns kernels as prebuilt_code() finds them again: by their names, their texts and the texts
/// of all headers. Those that `before`, which was returned earlier, has already are not compiled
/// again.
std::string bundle_of(const std::vector<KernelOfText>& kernels, int capability,
                      std::string_view before);

/// The bundles of this program.
std::span<const std::string_view> prebuilt_bundles();

}  // namespace halocline::stencil::cuda
