#include "cli/bench_line.hpp"

#include <CLI/CLI.hpp>

#include <halocline/error.hpp>

namespace halocline::cli {

BenchLine::BenchLine(CLI::App& app)
    : bench_(*app.add_subcommand("bench", "time what Halocline does, and check it")),
      halo_(bench_),
      step_(bench_) {
  bench_.require_subcommand(0, 1);
  bench_.footer("halocline bench halo --help and halocline bench step --help tell more.");
}

bool BenchLine::parsed() const { return bench_.parsed(); }

std::string BenchLine::name() const {
  return halo_.parsed() ? "bench halo " : step_.parsed() ? "bench step " : "bench ";
}

BenchCommand BenchLine::finish() const {
  if (halo_.parsed()) return halo_.finish();
  if (step_.parsed()) return step_.finish();
  throw Error(ErrorKind::usage,
              "bench was not told what to time; there are: halo (halocline bench halo), step "
              "(halocline bench step)");
}

}  // namespace halocline::cli
