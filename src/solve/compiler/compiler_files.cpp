// SPDX-License-Identifier: Apache-2.0
#include "compiler/compiler_files.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace halocline::compiler {
namespace {

// The oldest CUDA with which Halocline builds, and the newest whose file's name is known.
constexpr int oldest_major = 12, newest_major = 13;

std::string version_of(void* handle) {
  using Version = int(int*, int*);
  auto* const version = reinterpret_cast<Version*>(::dlsym(handle, "nvrtcVersion"));
  int major = 0, minor = 0;
  return version == nullptr || version(&major, &minor) != 0 ? ""
                                                            : fmt::format("{}.{}", major, minor);
}

LibraryToFind nvrtc_of(int cuda_major) {
  LibraryToFind nvrtc{"NVRTC",
                      {"libnvrtc.so.13", "nvidia/cu13/lib", ""},
                      "HALOCLINE_NVRTC",
                      "PyPI: nvidia-cuda-nvrtc, for drivers of CUDA 12 nvidia-cuda-nvrtc-cu12; or "
                      "the CUDA toolkit",
                      version_of,
                      "12.0"};
  if (cuda_major == 12) nvrtc.file = {"libnvrtc.so.12", "nvidia/cuda_nvrtc/lib", ""};
  return nvrtc;
}

std::vector<FoundLibrary> files_of(const LibraryToFind& wanted, const Variables& variables) {
  std::vector<FoundLibrary> files = files_to_load(wanted, variables);
  for (const std::string& root :
       {value_of(variables, "CUDA_HOME"), value_of(variables, "CUDA_PATH"),
        std::string("/usr/local/cuda")}) {
    const std::filesystem::path file = std::filesystem::path(root) / "lib64" / wanted.file.name;
    std::error_code ignored;
    if (!root.empty() && std::filesystem::exists(file, ignored))
      files.push_back({file, "the CUDA toolkit"});
  }
  return files;
}

}  // namespace

CompilerFiles find_compiler(const std::string& driver, const Variables& variables) {
  const int major = driver.empty() ? newest_major : std::atoi(driver.c_str());
  const int newest = std::clamp(major, oldest_major, newest_major);
  for (int cuda = newest; cuda >= oldest_major; --cuda) {
    const LibraryToFind wanted = nvrtc_of(cuda);
    std::vector<FoundLibrary> files = files_of(wanted, variables);
    if (!files.empty()) return {wanted, std::move(files)};
  }
  return {nvrtc_of(newest), {}};
}

}  // namespace halocline::compiler
