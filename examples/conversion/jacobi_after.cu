// SPDX-License-Identifier: Apache-2.0
// The solver of jacobi_before.cu with Halocline's exchange. The rest is unchanged.
#include <halocline/halocline.hpp>
#include <halocline/mpi.hpp>

#include "jacobi.cuh"

static void solve(const Options& options) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int nx = options.nx;

  // begin: exchange
  using namespace halocline;
  const Communicator world = from_mpi(MPI_COMM_WORLD);
  bind_gpu(world);
  const Grid grid(
      world,
      {.cells = {nx - 2, options.ny - 2}, .periodic = {false, true}, .process_grid = {1, ranks}});
  const int rows = static_cast<int>(grid.owned().extent().y);
  const int first = 1 + static_cast<int>(grid.owned().lower.y);
  // end: exchange
  float *level[2], *change, *change_here;
  make_levels(level, nx, options.ny, first, rows);
  // begin: exchange
  const FieldOptions on_gpu{.memory = Memory::device};
  const Field<float> u(grid, level[0] + nx + 1, {1, nx}, on_gpu),
      v(grid, level[1] + nx + 1, {1, nx}, on_gpu);
  LevelExchange halos(world, grid, {{u}, {v}});
  // end: exchange
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaMalloc(&change, sizeof(float)));
  CUDA(cudaMallocHost(&change_here, sizeof(float)));

  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  for (int sweep = 0; sweep < options.sweeps; ++sweep) {
    const int from = sweep % 2, to = 1 - from;
    CUDA(cudaMemsetAsync(change, 0, sizeof(float), stream));
    launch_jacobi(level[from], level[to], change, nx, rows, stream);
    CUDA(cudaMemcpyAsync(change_here, change, sizeof(float), cudaMemcpyDeviceToHost, stream));

    // begin: exchange
    halos.run(to, Stream::cuda(stream));
    // end: exchange

    CUDA(cudaStreamSynchronize(stream));
    const double mine = *change_here;
    double norm;
    MPI_Allreduce(&mine, &norm, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    tell_norm(rank, sweep, std::sqrt(norm));
  }
  tell_end(rank, options, level[options.sweeps % 2], rows, MPI_Wtime() - begun);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    solve(read_options(argc, argv));
  } catch (const halocline::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 4);
  }
  MPI_Finalize();
}
