// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <halocline/error.hpp>

#include "bench/halo_bench.hpp"
#include "bench/rivals.hpp"
#include "cli/benchmark.hpp"
#include "cli/common_options.hpp"
#include "cli/parse.hpp"
#include "grid/text.hpp"

namespace halocline::cli {
namespace {

const char* halo_footer =
    "Separate list entries with commas. Each combination is a case: checked once, byte by byte, "
    "and\n"
    "then timed.\n\n"
    "Examples:\n"
    "  halocline bench halo\n"
    "  halocline bench halo --ranks 4 --cells-per-rank 64x64x64 --process-grid 1x2x2 --corners\n"
    "  halocline bench halo --cells-per-rank 512x512 --width 1,2 --fields 1,3\n"
    "  halocline bench halo --cells-per-rank 16384x64 --precision f32 --graph off,on\n"
    "  mpirun -n 2 halocline bench halo --memory host --transport shared,mpi --json halo.json\n\n"
    "Exit codes: 0 ok, 1 wrong bytes, 2 usage, 3 not available here, 4 failure.";

class BenchHalo final : public Benchmark {
 public:
  explicit BenchHalo(Syntax& bench) : Benchmark(bench, "halo", "time halo exchanges", halo_footer) {
    const OptionGroup what = group("What to exchange");
    what.option("--cells-per-rank", "LIST", cells_per_rank_,
                "cells of each rank, x first: 1024x1024,64x64x64\n"
                "[default: 3 squares, 3 cubes]");
    what.option("--width", "LIST", width_, "halo widths in cells [default: 1]");
    what.option("--fields", "LIST", fields_, "numbers of fields exchanged together [default: 1]");
    what.flag("--corners", corners_, "exchange edges and corners too, not only faces");
    what.option("--precision", "P", precision_, "f32 or f64 [default: f64]");
    what.option("--periodic", "AXES", periodic_, "periodic axes, such as xy [default: none]");

    const OptionGroup how = group("How");
    how.option("--transport", "LIST", transport_,
               "transports, or one choice per kind of pair:\n"
               "same-node=shared,other-node=mpi\n"
               "[default: all that are available and proved here]");
    how.option("--memory", "LIST", memory_,
               "where fields live: auto, device, managed, pinned, system, host\n[default: auto]");
    how.option("--graph", "LIST", graph_,
               "off; on: 100 exchanges in one CUDA graph, one launch per repetition,\n"
               "where the transports allow it [default: off]");
    how.option("--rivals", "LIST", rivals_,
               "what programs do without Halocline, timed beside the transports:\n"
               "derived_types (of MPI), none [default: all]");
    add_ranks(how, 2);
    add_process_grid(how, process_grid_, "all along the last axis");
    add_loop(how, loop_, "0.2");
    add_proofs(how, proofs_);
    add_wait_limit(how);
    add_results(group("Results"));
  }

  BenchCommand finish() const override {
    const bench::HaloBenchOptions options = read();
    BenchCommand command = this->command(options, bench::run_halo_bench);
    std::vector<std::string> transports = options.transports;
    // A requested rival may need the proof of gpu_aware.
    if (rivals_ && !options.rivals.empty() && !transports.empty())
      transports.push_back("gpu_aware");
    want_proofs(command.job, transports, options.memories, options.proofs);
    return command;
  }

 private:
  std::vector<std::string> read_rivals() const {
    if (!rivals_) return bench::names_of_rivals();
    if (*rivals_ == "none") return {};
    return parse_list(*rivals_, "--rivals");
  }

  bench::HaloBenchOptions read() const {
    bench::HaloBenchOptions options;
    options.precision = precision_;
    options.proofs = proofs_;
    if (cells_per_rank_)
      for (const std::string& size : parse_list(*cells_per_rank_, "--cells-per-rank"))
        options.cells_per_rank.push_back(parse_extents(size, "--cells-per-rank"));
    if (width_) options.widths = parse_numbers(*width_, "--width");
    if (fields_) options.fields = parse_numbers(*fields_, "--fields");
    options.neighbours = corners_ ? Neighbours::all : Neighbours::faces;
    if (periodic_) options.periodic = parse_axes(*periodic_, "--periodic");
    for (const Extents& cells : options.cells_per_rank)
      for (int axis = cells.axes(); axis < 3; ++axis)
        if (options.periodic[static_cast<std::size_t>(axis)])
          throw Error(ErrorKind::usage, fmt::format("--periodic '{}': cells of {} have no axis {}",
                                                    *periodic_, grid::text_of(cells), "xyz"[axis]));
    if (transport_)
      options.transports = transport_->find('=') != std::string::npos
                               ? std::vector{*transport_}
                               : parse_list(*transport_, "--transport");
    if (memory_) options.memories = parse_list(*memory_, "--memory");
    if (graph_) options.graphs = parse_list(*graph_, "--graph");
    options.rivals = read_rivals();
    if (process_grid_) options.process_grid = parse_extents(*process_grid_, "--process-grid");
    read_loop(loop_, options.loop);
    return options;
  }

  // Words of the command line, before they become options.
  std::optional<std::string> cells_per_rank_, process_grid_, periodic_, transport_, memory_, graph_,
      rivals_, width_, fields_, proofs_;
  LoopWords loop_;
  std::string precision_ = bench::HaloBenchOptions().precision;
  bool corners_ = false;
};

}  // namespace

std::unique_ptr<Benchmark> make_bench_halo(Syntax& bench) {
  return std::make_unique<BenchHalo>(bench);
}

}  // namespace halocline::cli
