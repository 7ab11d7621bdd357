// SPDX-License-Identifier: Apache-2.0
// Every problem of the shelf compiles for a GPU, as its updates and rules are printed, and stays in
// registers. Needs the toolkit's NVRTC, but no GPU.

#include <nvrtc.h>

#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "problem/catalogue.hpp"
#include "stencil/cuda/passes/shapes.hpp"
#include "stencil/cuda/passes/side_terms.hpp"
#include "stencil/cuda/text/kernel_headers.hpp"
#include "stencil/cuda/text/printed.hpp"
#include "support/models.hpp"

namespace halocline {
namespace {

std::string log_of(nvrtcProgram program) {
  std::size_t size = 0;
  nvrtcGetProgramLogSize(program, &size);
  std::string log(size, '\0');
  nvrtcGetProgramLog(program, log.data());
  return log;
}

std::string ptx_of(nvrtcProgram program) {
  std::size_t size = 0;
  nvrtcGetPTXSize(program, &size);
  std::string ptx(size, '\0');
  nvrtcGetPTX(program, ptx.data());
  return ptx;
}

void compile(nvrtcProgram& program, const std::string& source, const std::string& kernel,
             std::vector<const char*> options) {
  std::vector<const char*> names, texts;
  for (const compiler::Header& header : stencil::cuda::kernel_headers()) {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  ASSERT_EQ(nvrtcCreateProgram(&program, source.c_str(), "formula.cu",
                               static_cast<int>(texts.size()), texts.data(), names.data()),
            NVRTC_SUCCESS);
  ASSERT_EQ(nvrtcAddNameExpression(program, kernel.c_str()), NVRTC_SUCCESS);
  for (const char* option : compiler::compiler_options) options.push_back(option);
  EXPECT_EQ(nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data()),
            NVRTC_SUCCESS)
      << log_of(program) << source;
}

void expect_compiles(const std::string& source, const std::string& kernel) {
  nvrtcProgram program = nullptr;
  compile(program, source, kernel, {"--gpu-architecture=compute_80"});
  const std::string ptx = ptx_of(program);
  // As written: no contraction.
  EXPECT_EQ(ptx.find("fma."), std::string::npos) << source;
  // What threads have in memory counts as values that do not fit in registers.
  EXPECT_EQ(ptx.find(".local"), std::string::npos) << "something copied for each thread";
  nvrtcDestroyProgram(&program);
}

void expect_compiles_passes(const problem::Model& model) {
  const stencil::cuda::PrintedUpdate update = stencil::cuda::print_update(model);
  expect_compiles(
      stencil::cuda::source_of_passes(model, update),
      stencil::cuda::name_of_pass(
          model, Norm::max, stencil::cuda::form_of(model, update, 2, Norm::max, model.cells), {}));
}

TEST(Nvrtc, CompilesGhostsThatChangeWithinAPass) {
  const problem::Model model = test::model_of_text(R"toml(
axes = 2
cells = [40, 40]
lower = [0, 0]
upper = [1, 1]
[parameters]
dt = 0.01
[fields.u]
initial = 0
[fields.u.boundary]
"x-" = { value = "0.3 + sin(7*y)" }
"x+" = "reflect"
"y-" = { outside = "cos(t) + x" }
"y+" = { mixed = { a = 1, b = 0.5, c = "0.2 + x" } }
[update]
u = "0.5*u + 0.1*(u[-2,1] + u[1,0] + u[0,-2] + u[1,2])"
[stop]
sweeps = 40
)toml");
  expect_compiles_passes(model);
  expect_compiles(stencil::cuda::source_of_side_terms(model),
                  stencil::cuda::name_of_make_terms(model));
}

// What ptxas says of kernels for H100 and H200.
TEST(Nvrtc, KeepsPassesInRegisters) {
  for (const auto& [problem, precision, sweeps, norm] :
       {std::tuple{"laplace", Precision::f32, 12, Norm::none},
        std::tuple{"laplace", Precision::f32, 8, Norm::max},
        std::tuple{"laplace", Precision::f64, 8, Norm::none},
        std::tuple{"laplace", Precision::f64, 6, Norm::max},
        std::tuple{"star7", Precision::f32, 3, Norm::max},
        std::tuple{"star7", Precision::f64, 3, Norm::none}}) {
    problem::Model model = test::built_in(problem, {}, {});
    model.precision = precision;
    const stencil::cuda::PrintedUpdate update = stencil::cuda::print_update(model);
    nvrtcProgram program = nullptr;
    compile(program, stencil::cuda::source_of_passes(model, update),
            stencil::cuda::name_of_pass(
                model, norm, stencil::cuda::form_of(model, update, sweeps, norm, model.cells), {}),
            {"--gpu-architecture=sm_90", "--ptxas-options=-v"});
    const std::string log = log_of(program), after = " bytes stack frame";
    nvrtcDestroyProgram(&program);
    const std::size_t end = log.find(after);
    ASSERT_NE(end, std::string::npos) << log;
    const std::size_t begin = log.find_last_of(' ', end - 1) + 1;
    EXPECT_LE(std::stoul(log.substr(begin, end - begin)), stencil::cuda::most_spilled_bytes)
        << problem << " by " << sweeps << " sweeps\n"
        << log;
  }
}

TEST(Nvrtc, CompilesEveryProblem) {
  for (const problem::BuiltIn& one : problem::built_in_problems()) {
    SCOPED_TRACE(one.name);
    const problem::Model model = test::built_in(std::string(one.name), {}, {});
    stencil::cuda::PrintedUpdate update = stencil::cuda::print_update(model);
    // Of these problems, those that read diagonally also do so from one layer to another.
    update.source +=
        fmt::format("static_assert({0}::reads_layers_diagonally<{0}::Printed>() == {1});\n",
                    "halocline::stencil::cuda", model.axes > 1 && model.reads_diagonally());
    expect_compiles(update.source,
                    model.axes > 1 ? stencil::cuda::name_of_march(model, Norm::max, {1, 1, 1, 4})
                                   : stencil::cuda::name_of_per_cell(model, Norm::l2));
    if (update.carried > 0)
      expect_compiles(
          update.source,
          stencil::cuda::name_of_march(
              model, Norm::max,
              {.ahead = 1, .rows = 1, .blocks = 1, .layers = 4, .fetched = 4, .carries = true}));
    if (model.axes == 3)
      expect_compiles(update.source, stencil::cuda::name_of_march(model, Norm::l2,
                                                                  {.ahead = 2,
                                                                   .rows = 1,
                                                                   .blocks = 1,
                                                                   .layers = 4,
                                                                   .carries = update.carried > 0,
                                                                   .steps = 2}));
    if (!stencil::cuda::cannot_persist_because(model))
      expect_compiles(update.source, stencil::cuda::name_of_persist(model, Norm::l2, 4));
    // Others are slower than one sweep at a time.
    if (!stencil::cuda::cannot_pass_because(model) &&
        stencil::cuda::suggested_sweeps_of(model, update, Norm::max) > 1)
      expect_compiles_passes(model);
    const std::string rules = stencil::cuda::print_rules(model);
    if (!rules.empty()) expect_compiles(rules, stencil::cuda::name_of_ghosts(model));
  }
}

}  // namespace
}  // namespace halocline
