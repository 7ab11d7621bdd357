// SPDX-License-Identifier: Apache-2.0
#include "solver/run_files/output_kind.hpp"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "text/refuse.hpp"

namespace halocline::solver {

OutputKind kind_of(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension();
  for (const auto& [known, kind] :
       {std::pair(".npy", OutputKind::npy), std::pair(".png", OutputKind::png),
        std::pair(".vtkhdf", OutputKind::vtkhdf), std::pair(".vti", OutputKind::vti)})
    if (extension == known) return kind;
  refuse(
      "the output '{}' ends in none of .npy (the whole array), .png (a picture), "
      ".vtkhdf and .vti (for ParaView)",
      path);
}

}  // namespace halocline::solver
