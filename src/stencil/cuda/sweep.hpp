#pragma once
// From backend.cpp, which the C++ compiler reads, to sweep.cu, which nvcc reads.

#include <memory>

#include "stencil/sweep.hpp"

namespace halocline::stencil::cuda {

std::unique_ptr<stencil::Sweep> make_sweep(const problem::Problem& problem,
                                           const problem::Setting& setting,
                                           problem::Precision precision);

}  // namespace halocline::stencil::cuda
