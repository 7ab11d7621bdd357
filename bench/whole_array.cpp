// SPDX-License-Identifier: Apache-2.0
// The halo as many first GPU codes move it, to compare with: the whole array comes to the host
// before every exchange, and goes back after it.
//
//   mpirun -n N bench_whole_array NX NY SWEEPS      laplace in fp64, max norm every sweep; prints
//                                                   ranks, seconds of the loop, GLUP/s
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include <halocline/halocline.hpp>

#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "machine/gpu_binding.hpp"
#include "problem/catalogue.hpp"
#include "problem/model.hpp"
#include "stencil/fill.hpp"
#include "stencil/sweep.hpp"

namespace {

using namespace halocline;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Between two fields of one shape: padding and all.
void copy_all(const FieldStorage& to, const FieldStorage& from, Stream stream) {
  device::copy(to.bytes(), from.bytes(), from.allocated_bytes(), stream);
}

void run(const Communicator& world, const Extents& cells, int sweeps) {
  const machine::GpuBinding binding = machine::bind_gpu(world);
  const Grid grid(world, {.cells = cells, .process_grid = {1, world.size()}});
  const Field<double> host(grid, {.name = "u", .memory = Memory::pinned});
  const FieldOptions on_gpu{.name = "u", .memory = Memory::device};
  const Field<double> levels[2] = {Field<double>(grid, on_gpu), Field<double>(grid, on_gpu)};
  const problem::ProblemText text = problem::find_problem("laplace");
  const problem::Model laplace =
      problem::model_of(problem::read_text(text.name, text.text), {.cells = {cells[0], cells[1]}});
  stencil::fill_start(host, laplace, laplace.fields[0].initial.expression, 1);
  const device::OwnedStream stream;
  for (const auto& level : levels) copy_all(level, host, stream.get());
  Exchange exchange(world, grid, {host}, {.neighbours = Neighbours::faces, .transport = "mpi"});
  const auto sweep = stencil::find_backend("cuda").make(laplace, {});
  const auto place = device::allocate(Memory::device, sizeof(double));
  const auto norm = device::allocate(Memory::pinned, sizeof(double));

  double start = 0;
  for (int s = 0; s < sweeps; ++s) {
    if (s == 1) {
      comm::barrier(world);
      start = now();
    }
    copy_all(host, levels[s % 2], stream.get());
    device::synchronize(stream.get());
    exchange.run();
    copy_all(levels[s % 2], host, stream.get());
    device::clear(place.get(), sizeof(double), stream.get());
    sweep->run({.in = levels[s % 2],
                .out = levels[1 - s % 2],
                .region = grid.owned(),
                .norm = Norm::max,
                .norm_sum = static_cast<double*>(place.get())},
               stream.get());
    device::copy(norm.get(), place.get(), sizeof(double), stream.get());
    device::synchronize(stream.get());
    comm::max_over_ranks(world, *static_cast<const double*>(norm.get()));
  }
  const double seconds = comm::max_over_ranks(world, now() - start);
  if (world.rank() != 0) return;
  fmt::print("{} {:.6f} {:.3f}\n", world.size(), seconds,
             static_cast<double>(cells[0] * cells[1]) * (sweeps - 1) / seconds * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  const Runtime runtime;
  const Communicator world = Communicator::world();
  if (argc != 4) {
    if (world.rank() == 0) fmt::print(stderr, "usage: bench_whole_array NX NY SWEEPS\n");
    return 2;
  }
  try {
    run(world, {std::atoll(argv[1]), std::atoll(argv[2])}, std::atoi(argv[3]));
    return 0;
  } catch (const Error& error) {
    if (world.rank() == 0) fmt::print(stderr, "bench_whole_array: {}\n", error.what());
    return 3;
  }
}
