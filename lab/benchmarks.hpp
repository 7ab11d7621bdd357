// SPDX-License-Identifier: Apache-2.0
#pragma once
// The benchmarks of the laboratory as its command line knows them, one row each.

#include <memory>

#include "cli/benchmark.hpp"

namespace halocline::cli {

/// Each adds itself to a command.
std::unique_ptr<Benchmark> make_bench_copy(Syntax& lab);
std::unique_ptr<Benchmark> make_bench_first_use(Syntax& lab);
std::unique_ptr<Benchmark> make_bench_mesh(Syntax& lab);
std::unique_ptr<Benchmark> make_bench_progress(Syntax& lab);
std::unique_ptr<Benchmark> make_bench_overhead(Syntax& lab);

}  // namespace halocline::cli
