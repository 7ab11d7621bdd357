// SPDX-License-Identifier: Apache-2.0
// Problem files that libFuzzer makes, for every number of axes. scripts/fuzz runs it.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "problem/model.hpp"
#include "support/problem_oracle.hpp"

namespace {

using namespace halocline;

/// Any exception but Error ends the program.
std::string fault_with(const std::string& text, int axes) {
  try {
    return test::fault_of(problem::model_of(problem::read_text("fuzz.toml", text), {.axes = axes}),
                          text);
  } catch (const Error& error) {
    return test::fault_of(error);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  for (int axes = 0; axes <= 3; ++axes)
    if (const std::string fault = fault_with(text, axes); !fault.empty()) {
      std::fprintf(stderr, "with %d axes (0: the file's): %s\n", axes, fault.c_str());
      std::abort();
    }
  return 0;
}
