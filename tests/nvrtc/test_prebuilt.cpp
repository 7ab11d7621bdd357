// SPDX-License-Identifier: Apache-2.0
// Kernels that came with the program are those that runs ask for, whatever their constants. Needs
// no GPU.

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "stencil/cuda/text/prebuilt.hpp"
#include "stencil/cuda/walks/shapes.hpp"
#include "support/models.hpp"

namespace halocline::stencil::cuda {
namespace {

using halocline::Norm;  // not that of kernels

class Prebuilt : public testing::Test {
 protected:
  void SetUp() override {
    if (capability == 0) GTEST_SKIP() << "built for no GPU's own code";
  }

  static PrintedUpdate printed(const problem::Model& model) {
    return print_update(model, pushed_by_walks(model));
  }
  static std::optional<compiler::Code> march_of(const problem::Model& model, Norm norm,
                                                int for_capability = capability) {
    const PrintedUpdate update = printed(model);
    return prebuilt_code(
        update.source,
        name_of_march(model, norm, shape_with(shapes_for(model, update, false).front(), norm),
                      argument_rooms[room_number_for(update.operands)]),
        for_capability);
  }

  static const int capability;
};

const int Prebuilt::capability = std::atoi(HALOCLINE_PREBUILT_FOR);

problem::Model average(const std::string& update) {
  return test::model_of_text(
      "axes = 2\ncells = [8, 8]\n[fields.u]\ninitial = 0\nboundary = { outside = 0.3 }\n[update]\n"
      "u = \"" +
      update + "\"\n[stop]\nsweeps = 1\n");
}

TEST_F(Prebuilt, ServesEveryValueOfItsConstants) {
  for (const Norm norm : {Norm::none, Norm::max, Norm::l2})
    for (const Precision precision : {Precision::f32, Precision::f64}) {
      SCOPED_TRACE(name_of(norm));
      for (const int axes : {2, 3}) {
        EXPECT_TRUE(
            march_of(test::built_in("laplace", {}, {.axes = axes, .precision = precision}), norm));
        for (const double dt : {1e-4, 3e-4})
          EXPECT_TRUE(march_of(
              test::built_in("heat", {},
                             {.axes = axes, .parameters = {{"dt", dt}}, .precision = precision}),
              norm));
      }
      EXPECT_TRUE(march_of(test::built_in("jacobi", {}, {.precision = precision}), norm));
      EXPECT_TRUE(march_of(
          test::built_in("star7", {}, {.parameters = {{"centre", 0.25}}, .precision = precision}),
          norm));
    }
}

TEST_F(Prebuilt, HasTheKernelInMachineCode) {
  const auto code = march_of(test::built_in("star7", {}, {}), Norm::none);
  ASSERT_TRUE(code);
  EXPECT_TRUE(code->is_prebuilt);
  EXPECT_EQ(code->image.substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_NE(code->image.find(code->kernel), std::string::npos);
}

TEST_F(Prebuilt, ServesPersistentSweeps) {
  struct Run {
    const char* problem;
    int axes;
    Norm norm;
  };
  for (const Run& run :
       {Run{"laplace", 2, Norm::max}, Run{"jacobi", 2, Norm::l2}, Run{"heat", 2, Norm::max},
        Run{"laplace", 3, Norm::max}, Run{"heat", 3, Norm::max}, Run{"star7", 3, Norm::max}}) {
    const problem::Model model = test::built_in(run.problem, {}, {.axes = run.axes});
    for (const int rows : rows_of_persist(run.axes))
      EXPECT_TRUE(prebuilt_code(print_update(model).source, name_of_persist(model, run.norm, rows),
                                capability))
          << run.problem << run.axes << rows;
  }
}

TEST_F(Prebuilt, IsOnlyForTheVeryFormula) {
  EXPECT_TRUE(march_of(average("0.3 * ((u[-1,0] + u[1,0]) + (u[0,-1] + u[0,1]))"), Norm::max));
  EXPECT_FALSE(march_of(average("0.3 * ((u[1,0] + u[-1,0]) + (u[0,-1] + u[0,1]))"), Norm::max));
  EXPECT_FALSE(march_of(average("((u[-1,0] + u[1,0]) + (u[0,-1] + u[0,1])) / 4"), Norm::max));
}

TEST_F(Prebuilt, IsOnlyForGpusThatRunIt) {
  const problem::Model star7 = test::built_in("star7", {}, {});
  EXPECT_FALSE(march_of(star7, Norm::none, capability - 1));
  EXPECT_FALSE(march_of(star7, Norm::none, capability + 60));
}

TEST(PrintedUpdates, HaveConstantsAsArgumentsIfTheyAreOnlyAddedSubtractedAndMultiplied) {
  const auto text = [](const std::string& update) { return print_update(average(update)).source; };
  EXPECT_EQ(text("0.5*u[1,0] + 2"), text("0.25*u[1,0] + 3"));
  EXPECT_NE(text("u[1,0] / 2"), text("u[1,0] / 3"));
  EXPECT_NE(text("select(u > 2, u, 0)"), text("select(u > 3, u, 0)"));
  EXPECT_NE(text("1*u*2*u*3*u*4*u*5"), text("1*u*2*u*3*u*4*u*6"));
  const PrintedUpdate update = print_update(average("0.5*u[1,0] + 2"));
  EXPECT_EQ(update.constants[0], 0.5);
  EXPECT_EQ(update.constants[1], 2);
}

}  // namespace
}  // namespace halocline::stencil::cuda
