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
#include "problem/formulas.hpp"
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

const std::string names = "halocline::stencil::cuda::";

TEST(Nvrtc, CompilesKernelsOfAUsersFormula) {
  const std::string shape = names + "ShapeFor<" + names + "Norm::l2, 3, double>";
  const std::string average = "halocline::problem::AverageFormula<3, double>";
  const Compiled compiled =
      compile(users_source, {names + "persist<2, 8, " + names + "Norm::max, float, " + names +
                                 "OneField<UsersFormula<float>, 2>>",
                             names + "persist<3, 8, " + names + "Norm::l2, double, " + names +
                                 "OneField<UsersFormula<double>, 3>>",
                             names + "march<" + names + "Norm::l2, 3, " + shape + ", double, " +
                                 names + "OneField<" + average + ", 3>, 1, 1>",
                             names + "per_cell<" + names + "Norm::none, double, " + names +
                                 "OneField<UsersFormula<double>, 1>, 1, 1>"});
  EXPECT_EQ(compiled.result, NVRTC_SUCCESS) << compiled.log;
  // As written: no contraction.
  EXPECT_EQ(compiled.ptx.find("fma."), std::string::npos);
  // What threads have in memory counts as values that do not fit in registers.
  EXPECT_EQ(compiled.ptx.find(".local"), std::string::npos) << "arguments copied for each thread";
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

TEST(Nvrtc, SaysWhatIsWrongWithAFormula) {
  const Compiled compiled =
      compile(std::string(users_source) + "static_assert(sizeof(UsersFormula<float>) == 1);", {});
  EXPECT_EQ(compiled.result, NVRTC_ERROR_COMPILATION);
  EXPECT_NE(compiled.log.find("users.cu"), std::string::npos) << compiled.log;
}

}  // namespace
