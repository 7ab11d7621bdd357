// SPDX-License-Identifier: Apache-2.0
// Compiles the kernels of a built-in problem for GPUs that need not be here, when Halocline is
// built: cmake/prebuilt.cmake.
//
//   halocline_prebuild FILE CAPABILITY PROBLEM AXES f32|f64

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <halocline/error.hpp>

#include "problem/catalogue.hpp"
#include "stencil/cuda/text/prebuilt.hpp"
#include "stencil/cuda/walks/shapes.hpp"

namespace halocline {

namespace {

using namespace stencil::cuda;

/// What sweeps of a model ask for: the first shape of walks, which fits all of these problems, and
/// persistent sweeps for the norms max and none, and for jacobi's.
std::vector<KernelOfText> kernels_of(const std::string& name, const problem::Model& model) {
  const PrintedUpdate update = print_update(model, pushed_by_walks(model));
  const ArgumentRoom room = argument_rooms[room_number_for(update.operands)];
  const std::vector<WalkShape> shapes = shapes_for(model, update, false);
  std::vector<KernelOfText> all;
  for (const Norm norm : {Norm::none, Norm::max, Norm::l2}) {
    if (model.axes > 1)
      all.push_back(
          {update.source, name_of_march(model, norm, shape_with(shapes.front(), norm), room)});
    all.push_back({update.source, name_of_per_cell(model, norm, room)});
  }
  if (cannot_persist_because(model)) return all;
  std::vector<Norm> norms{Norm::max};
  if (name == "laplace" && model.axes == 2)
    norms.push_back(Norm::l2);  // jacobi differs in its sides
  for (const Norm norm : norms)
    for (const int rows : rows_of_persist(model.axes))
      all.push_back({print_update(model).source, name_of_persist(model, norm, rows)});
  return all;
}

void run(const std::vector<std::string>& words) {
  if (words.size() != 5)
    throw Error(ErrorKind::usage, "usage: halocline_prebuild FILE CAPABILITY PROBLEM AXES f32|f64");
  const std::string& file = words[0];
  const problem::ProblemText text = problem::find_problem(words[2]);
  const problem::Model model =
      problem::model_of(problem::read_text(text.name, text.text),
                        {.axes = std::stoi(words[3]),
                         .precision = words[4] == "f32" ? Precision::f32 : Precision::f64});
  std::ifstream old(file, std::ios::binary);
  const std::string before{std::istreambuf_iterator<char>(old), {}};
  const std::string bundle = bundle_of(kernels_of(text.name, model), std::stoi(words[1]), before);
  std::ofstream made(file + ".new", std::ios::binary);
  if (!(made << bundle).flush()) throw Error(ErrorKind::resource, "cannot write " + file);
  std::filesystem::rename(file + ".new", file);
}

}  // namespace
}  // namespace halocline

int main(int argc, char** argv) {
  try {
    halocline::run({argv + 1, argv + argc});
    return 0;
  } catch (const halocline::Error& error) {
    std::fprintf(stderr, "halocline_prebuild: %s\n", error.what());
    return 1;
  }
}
