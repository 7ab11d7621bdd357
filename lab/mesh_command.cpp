// SPDX-License-Identifier: Apache-2.0
#include "cli/benchmark.hpp"
#include "cli/common_options.hpp"
#include "cli/parse.hpp"
#include "lab/benchmarks.hpp"
#include "lab/mesh.hpp"
#include "lab/mesh_timeline.hpp"

namespace halocline::cli {
namespace {

const char* mesh_footer =
    "Each rank exchanges messages with its neighbours in a mesh of ranks:\n"
    "  send-first   MPI_Send to all, then MPI_Recv from all\n"
    "  ordered      MPI_Send one way and MPI_Recv from the other, one direction after another\n"
    "  irecv-send   MPI_Irecv from all, MPI_Send to all, MPI_Waitall\n"
    "  irecv-isend  MPI_Irecv from all, MPI_Isend to all, MPI_Waitall\n"
    "Each blocking call runs as its non-blocking counterpart followed by a wait. MPI treats both "
    "the\n"
    "same, but a rank can leave the wait: stuck ranks exchange where they wait, so the benchmark\n"
    "reports a deadlock, resolves it and goes on. Every byte is checked before and after "
    "timing.\n\n"
    "Examples:\n"
    "  halocline-lab mesh\n"
    "  halocline-lab mesh --ranks 6 --process-grid 2x3 --sizes 8,64Ki --trace mesh.trace.json\n"
    "  mpirun -n 4 halocline-lab mesh --periodic xy --orders ordered,irecv-isend\n\n"
    "Exit codes: 0 ok, 1 wrong bytes, 2 usage, 3 not available here, 4 failure.";

class BenchMesh final : public Benchmark {
 public:
  explicit BenchMesh(Syntax& bench);
  BenchCommand finish() const override;

 private:
  bench::MeshBenchOptions read() const;

  // Words as the user wrote them, before they become options.
  std::optional<std::string> sizes_, orders_, process_grid_, periodic_;
  LoopWords loop_;
};

BenchMesh::BenchMesh(Syntax& bench)
    : Benchmark(bench, "mesh", "compare orders of posting messages", mesh_footer) {
  const OptionGroup what = group("What to exchange");
  what.option("--sizes", "LIST", sizes_,
              "bytes of each message, such as 8,64Ki\n[default: 1Ki,64Ki,1Mi]");
  what.option("--orders", "LIST", orders_,
              "send-first, ordered, irecv-send, irecv-isend\n[default: all]");
  what.option("--periodic", "AXES", periodic_, "periodic axes, such as xy [default: none]");

  const OptionGroup how = group("How");
  add_ranks(how, 4);
  add_process_grid(how, process_grid_, "2 axes, as square as possible");
  add_loop(how, loop_, "0.2");
  add_wait_limit(how);
  const OptionGroup results = group("Results");
  add_results(results);
  add_trace(results);
}

bench::MeshBenchOptions BenchMesh::read() const {
  bench::MeshBenchOptions options;
  if (sizes_) options.sizes = parse_sizes(*sizes_, "--sizes");
  if (orders_) {
    options.orders.clear();
    for (const std::string& order : parse_list(*orders_, "--orders"))
      options.orders.push_back(bench::mesh_order_named(order));
  }
  if (process_grid_) options.process_grid = parse_extents(*process_grid_, "--process-grid");
  if (periodic_) options.periodic = parse_axes(*periodic_, "--periodic");
  read_loop(loop_, options.loop);
  return options;
}

BenchCommand BenchMesh::finish() const { return command(read(), bench::run_mesh_bench); }

}  // namespace

std::unique_ptr<Benchmark> make_bench_mesh(Syntax& bench) {
  return std::make_unique<BenchMesh>(bench);
}

}  // namespace halocline::cli
