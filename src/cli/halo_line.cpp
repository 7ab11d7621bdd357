#include "cli/halo_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <halocline/error.hpp>

#include "cli/common_options.hpp"
#include "cli/parse.hpp"
#include "cli/ranks.hpp"

namespace halocline::cli {
namespace {

const char* footer =
    "Lists are written with commas. Every combination is a case: verified once, byte by byte,\n"
    "then timed.\n\n"
    "Examples:\n"
    "  halocline bench halo --ranks 2\n"
    "  halocline bench halo --ranks 4 --cells-per-rank 64x64x64 --process-grid 1x2x2 --corners\n"
    "  halocline bench halo --ranks 2 --cells-per-rank 512x512 --width 1,2 --fields 1,3\n"
    "  halocline bench halo --ranks 2 --cells-per-rank 16384x64 --precision f32 --graph off,on\n"
    "  mpirun -n 2 halocline bench halo --memory host --transport shared,mpi --json halo.json\n\n"
    "Exit codes: 0 ok, 1 a wrong byte, 2 usage, 3 not available here, 4 failure.";

}  // namespace

/// Words as the user wrote them, before they become options.
struct HaloLine::Words {
  CLI::App* halo = nullptr;
  std::optional<std::string> cells_per_rank, process_grid, periodic, transport, memory, graph,
      width, fields;
  std::optional<std::int64_t> repetitions;
  std::optional<double> seconds;
  bool corners = false, quiet = false;
  bench::HaloBenchOptions options;
  BenchCommand command;
};

HaloLine::HaloLine(CLI::App& bench) : words_(std::make_unique<Words>()) {
  Words& words = *words_;
  BenchCommand& command = words.command;
  words.halo = bench.add_subcommand("halo", "time the exchange of halos");
  CLI::App& halo = *words.halo;
  halo.footer(footer);

  const auto* what = "What to exchange";
  halo.add_option("--cells-per-rank", words.cells_per_rank, "sizes, x first: 1024x1024,64x64x64")
      ->type_name("LIST")
      ->group(what);
  halo.add_option("--width", words.width, "halo widths in cells (1)")
      ->type_name("LIST")
      ->group(what);
  halo.add_option("--fields", words.fields, "numbers of fields exchanged together (1)")
      ->type_name("LIST")
      ->group(what);
  halo.add_flag("--corners", words.corners, "edges and corners too, not faces only")->group(what);
  halo.add_option("--precision", words.options.precision, "f32 or f64 (f64)")
      ->type_name("P")
      ->group(what);
  halo.add_option("--periodic", words.periodic, "axes that wrap around, such as xy (none)")
      ->type_name("AXES")
      ->group(what);

  const auto* how = "How";
  halo.add_option("--transport", words.transport,
                  "transports (all that can be used here and are proved), or one\n"
                  "choice by kind of pair: same-node=shared,other-node=mpi")
      ->type_name("LIST")
      ->group(how);
  halo.add_option("--memory", words.memory,
                  "where fields live: auto, device, managed, pinned, system, host (auto)")
      ->type_name("LIST")
      ->group(how);
  halo.add_option("--graph", words.graph,
                  "off, or on: 100 exchanges in one CUDA graph, one launch a repetition,\n"
                  "where the transports allow it (off)")
      ->type_name("LIST")
      ->group(how);
  add_ranks(halo, how, command.ranks);
  halo.add_option("--process-grid", words.process_grid,
                  "ranks along each axis (all along the last)")
      ->type_name("PXxPY[xPZ]")
      ->group(how);
  halo.add_option("--repetitions", words.repetitions,
                  "time N exchanges, or graphs of them, of each case")
      ->type_name("N")
      ->group(how);
  halo.add_option("--seconds", words.seconds, "or as many as fit into S seconds (0.2)")
      ->type_name("S")
      ->group(how);
  add_proofs(halo, how, words.options.proofs);
  add_wait_limit(halo, how, command.wait_limit_seconds);

  const auto* results = "Results";
  add_json(halo, results, command.json);
  add_quiet(halo, results, words.quiet);
}

HaloLine::~HaloLine() = default;

bool HaloLine::parsed() const { return words_->halo->parsed(); }

BenchCommand HaloLine::finish() const {
  const Words& words = *words_;
  bench::HaloBenchOptions options = words.options;
  if (words.cells_per_rank)
    for (const std::string& size : parse_list(*words.cells_per_rank, "--cells-per-rank"))
      options.cells_per_rank.push_back(parse_extents(size, "--cells-per-rank"));
  if (words.width) options.widths = parse_numbers(*words.width, "--width");
  if (words.fields) options.fields = parse_numbers(*words.fields, "--fields");
  options.neighbours = words.corners ? Neighbours::all : Neighbours::faces;
  if (words.periodic) options.periodic = parse_axes(*words.periodic, "--periodic");
  if (words.transport)
    options.transports = words.transport->find('=') != std::string::npos
                             ? std::vector{*words.transport}
                             : parse_list(*words.transport, "--transport");
  if (words.memory) options.memories = parse_list(*words.memory, "--memory");
  if (words.graph) options.graphs = parse_list(*words.graph, "--graph");
  if (words.process_grid)
    options.process_grid = parse_extents(*words.process_grid, "--process-grid");
  if (words.repetitions && words.seconds)
    throw Error(ErrorKind::usage,
                fmt::format("{} repetitions and {} seconds of each case are two wishes; give "
                            "--repetitions or --seconds",
                            *words.repetitions, *words.seconds));
  if (words.repetitions && *words.repetitions < 1)
    throw Error(ErrorKind::usage,
                fmt::format("{} repetitions cannot be timed; use 1 or more", *words.repetitions));
  options.loop.repetitions = words.repetitions.value_or(options.loop.repetitions);
  options.loop.seconds = words.seconds.value_or(options.loop.seconds);
  BenchCommand command = words.command;
  command.options = std::move(options);
  command.quiet = words.quiet ? BenchCommand::Flag::yes : BenchCommand::Flag::no;
  check_rank_options(command.ranks, command.wait_limit_seconds);
  return command;
}

}  // namespace halocline::cli
