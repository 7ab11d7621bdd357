// SPDX-License-Identifier: Apache-2.0
#include "proof/cuda_parts.hpp"

#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "base/small_files.hpp"

namespace halocline::proof {

namespace fs = std::filesystem;

fs::path ucx_modules(const fs::path& libucp, const Variables& variables) {
  if (const std::string chosen = value_of(variables, "UCX_MODULE_DIR"); !chosen.empty())
    return chosen;
  std::error_code ignored;
  return fs::canonical(libucp, ignored).parent_path() / "ucx";
}

fs::path cuda_module_in(const fs::path& modules) {
  for (const fs::path& module : entries_of(modules))
    if (module.filename().native().starts_with("libuct_cuda.so")) return module;
  return {};
}

bool libfabric_knows_cuda(const fs::path& libfabric) {
  std::ifstream file(libfabric, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return all.find("libcuda.so") != std::string::npos ||
         all.find("libcudart.so") != std::string::npos;
}

}  // namespace halocline::proof
