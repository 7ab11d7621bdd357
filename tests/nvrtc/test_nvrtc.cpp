// SPDX-License-Identifier: Apache-2.0
// The sweep kernels also compile at run time, with a formula that this program did not know when
// it was built. Needs the toolkit's NVRTC, but no GPU.

#include <nvrtc.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

// As a user would write it: a formula of their own.
constexpr auto users_source = R"(
#include "problem/laplace.hpp"
#include "stencil/cuda/march.cuh"
#include "stencil/cuda/per_cell.cuh"
#include "stencil/cuda/persistent.cuh"

template <class Real>
struct UsersFormula {
  Real a, b;
  template <class Cells>
  HALOCLINE_FORMULA auto operator()(const Cells& u) const {
    return u.constant(a) * u.c() + u.constant(b) * (u.w() + u.e());
  }
};
)";

struct Compiled {
  nvrtcResult result = NVRTC_SUCCESS;
  std::string log, ptx;
};

Compiled compile(const std::string& source, const std::vector<std::string>& kernels) {
  nvrtcProgram program = nullptr;
  Compiled compiled;
  EXPECT_EQ(nvrtcCreateProgram(&program, source.c_str(), "users.cu", 0, nullptr, nullptr),
            NVRTC_SUCCESS);
  for (const std::string& kernel : kernels)
    EXPECT_EQ(nvrtcAddNameExpression(program, kernel.c_str()), NVRTC_SUCCESS);
  const std::vector<const char*> options{"--std=c++20", "--gpu-architecture=compute_90",
                                         "--fmad=false", "-I" HALOCLINE_SOURCE_FOLDER "/core",
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

const std::string names = "halocline::stencil::cuda::";

std::string kernel_of(const std::string& template_name, const std::string& norm, int axes,
                      const std::string& real, const std::string& formula) {
  return names + template_name + "<" + names + "Norm::" + norm + ", " + std::to_string(axes) +
         ", " + real + ", " + formula + "<" + real + ">>";
}

TEST(Nvrtc, CompilesKernelsOfAUsersFormula) {
  const Compiled compiled = compile(
      users_source, {kernel_of("march", "max", 2, "float", "UsersFormula"),
                     kernel_of("march", "l2", 3, "double", "UsersFormula"),
                     kernel_of("per_cell", "none", 1, "double", "UsersFormula"),
                     names + "persist<8, " + names + "Norm::max, float, UsersFormula<float>>",
                     names + "march<" + names +
                         "Norm::max, 3, double, halocline::problem::AverageFormula<3, double>>"});
  EXPECT_EQ(compiled.result, NVRTC_SUCCESS) << compiled.log;
  // As written: no contraction.
  EXPECT_EQ(compiled.ptx.find("fma."), std::string::npos);
}

TEST(Nvrtc, SaysWhatIsWrongWithAFormula) {
  const Compiled compiled =
      compile(std::string(users_source) + "static_assert(sizeof(UsersFormula<float>) == 1);", {});
  EXPECT_EQ(compiled.result, NVRTC_ERROR_COMPILATION);
  EXPECT_NE(compiled.log.find("users.cu"), std::string::npos) << compiled.log;
}

}  // namespace
