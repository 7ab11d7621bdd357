// SPDX-License-Identifier: Apache-2.0
#include "proof/cuda_parts.hpp"

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "base/files/small_files.hpp"

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
  std::ostringstream content;
  content << file.rdbuf();  // 2 ms for libfabric of 1.7 MB, at each exchange; by iterators 16
  const std::string_view all = content.view();
  return all.find("libcuda.so") != std::string::npos ||
         all.find("libcudart.so") != std::string::npos;
}

}  // namespace halocline::proof
