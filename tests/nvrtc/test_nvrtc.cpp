// SPDX-License-Identifier: Apache-2.0
// Functions of formulas compile for a GPU, as written. Needs the toolkit's NVRTC, but no GPU.

#include <nvrtc.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

struct Compiled {
  nvrtcResult result = NVRTC_SUCCESS;
  std::string log, ptx;
};

Compiled compile(const std::string& source, const std::vector<std::string>& kernels) {
  nvrtcProgram program = nullptr;
  Compiled compiled;
  EXPECT_EQ(nvrtcCreateProgram(&program, source.c_str(), "functions.cu", 0, nullptr, nullptr),
            NVRTC_SUCCESS);
  for (const std::string& kernel : kernels)
    EXPECT_EQ(nvrtcAddNameExpression(program, kernel.c_str()), NVRTC_SUCCESS);
  const std::vector<const char*> options{"--std=c++20",
                                         "--gpu-architecture=compute_90",
                                         "--fmad=false",
                                         "--device-as-default-execution-space",
                                         "-I" HALOCLINE_SOURCE_FOLDER "/core",
                                         "-I" HALOCLINE_SOURCE_FOLDER "/solve"};
  compiled.result = nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
  std::size_t size = 0;
  nvrtcGetProgramLogSize(program, &size);
  compiled.log.resize(size);
  nvrtcGetProgramLog(program, compiled.log.data());
  if (compiled.result == NVRTC_SUCCESS) {
    nvrtcGetPTXSize(program, &size);
    compiled.ptx.resize(size);
    nvrtcGetPTX(program, compiled.ptx.data());
    for (const std::string& kernel : kernels) {
      const char* name = nullptr;
      EXPECT_EQ(nvrtcGetLoweredName(program, kernel.c_str(), &name), NVRTC_SUCCESS) << kernel;
      EXPECT_NE(compiled.ptx.find(name), std::string::npos) << kernel;
    }
  }
  nvrtcDestroyProgram(&program);
  return compiled;
}

// Functions, as an update in a problem file calls them.
constexpr auto source_of_functions = R"(
#include "problem/functions.hpp"

template <class Real>
__global__ void evaluate(const Real* x, Real* values) {
  namespace functions = halocline::problem::functions;
  const Real a = x[threadIdx.x], b = functions::tanh(functions::exp(functions::log(a)));
  values[threadIdx.x] = functions::pow(functions::sin(a) + functions::cos(a), b);
}
)";

TEST(Nvrtc, CompilesFunctionsOfFormulas) {
  const Compiled compiled = compile(source_of_functions, {"evaluate<float>", "evaluate<double>"});
  EXPECT_EQ(compiled.result, NVRTC_SUCCESS) << compiled.log;
  EXPECT_EQ(compiled.log.find("warning"), std::string::npos) << compiled.log;
  EXPECT_EQ(compiled.ptx.find("fma."), std::string::npos);
  EXPECT_EQ(compiled.ptx.find(".local"), std::string::npos) << "a table copied for each thread";
}

}  // namespace
