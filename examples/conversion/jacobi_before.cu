// SPDX-License-Identifier: Apache-2.0
// A typical Jacobi solver on GPUs: MPI and CUDA, with explicit copies of the halo through the host.
#include "jacobi.cuh"

static void solve(const Options& options) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int nx = options.nx;

  // begin: exchange
  MPI_Comm node;
  int place, gpus;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &place);
  MPI_Comm_free(&node);
  CUDA(cudaGetDeviceCount(&gpus));
  CUDA(cudaSetDevice(place % gpus));
  const int all = options.ny - 2, few = all / ranks, more = all % ranks;
  const int rows = few + (rank < more ? 1 : 0);
  const int first = 1 + rank * few + (rank < more ? rank : more);
  if (few == 0) {
    if (rank == 0) std::fprintf(stderr, "%d rows for %d ranks\n", all, ranks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int above = (rank + ranks - 1) % ranks, below = (rank + 1) % ranks;
  const std::size_t row = static_cast<std::size_t>(nx) * sizeof(float);
  float *send_up, *send_down, *from_above, *from_below;
  for (float** buffer : {&send_up, &send_down, &from_above, &from_below})
    CUDA(cudaMallocHost(buffer, row));
  // end: exchange
  float *level[2], *change, *change_here;
  make_levels(level, nx, options.ny, first, rows);
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
    float* const top = level[to] + nx;
    float* const bottom = level[to] + static_cast<std::size_t>(rows) * nx;
    CUDA(cudaMemcpyAsync(send_up, top, row, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaMemcpyAsync(send_down, bottom, row, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    MPI_Sendrecv(send_up, nx, MPI_FLOAT, above, 0, from_below, nx, MPI_FLOAT, below, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(send_down, nx, MPI_FLOAT, below, 1, from_above, nx, MPI_FLOAT, above, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CUDA(cudaMemcpyAsync(top - nx, from_above, row, cudaMemcpyHostToDevice, stream));
    CUDA(cudaMemcpyAsync(bottom + nx, from_below, row, cudaMemcpyHostToDevice, stream));
    // end: exchange

    CUDA(cudaStreamSynchronize(stream));
    const double mine = *change_here;
    double norm;
    MPI_Allreduce(&mine, &norm, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    tell_norm(rank, sweep, std::sqrt(norm));
  }
  tell_end(rank, options, level[options.sweeps % 2], rows, MPI_Wtime() - begun);

  // begin: exchange
  for (float* buffer : {send_up, send_down, from_above, from_below}) CUDA(cudaFreeHost(buffer));
  // end: exchange
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  solve(read_options(argc, argv));
  MPI_Finalize();
}
