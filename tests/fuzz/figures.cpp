// SPDX-License-Identifier: Apache-2.0
// Reports that `plan --figures` reads. scripts/fuzz runs it.

#include "plan/figures.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/hostile_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halocline;
  static test::HostileFile file;
  test::refused_or_read([&] {
    plan::Figures figures;
    plan::add_figures(figures, file.put(std::string(data, data + size)));
    plan::predict(figures, {.problem = "laplace",
                            .precision = "f64",
                            .ranks = 2,
                            .cells = 1e6,
                            .messages = 2,
                            .bytes = 8192});
  });
  return 0;
}
