// SPDX-License-Identifier: Apache-2.0
// Laplace's equation with NCCL: rows and norms travel on the stream, the host waits once at the
// end.
#include <nccl.h>
#include <unistd.h>

#include "../laplace.cuh"

static void check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, ncclGetErrorString(result));
  MPI_Abort(MPI_COMM_WORLD, 4);
}

static int solve(const laplace::Case& given) {
  using namespace laplace;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Rows rows = rows_of(given, rank, ranks);
  const int above = rank - 1, below = rank + 1 < ranks ? rank + 1 : -1;  // -1: the frame

  ncclUniqueId id;  // MPI only starts: it tells all ranks where to meet
  if (rank == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  check(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank");

  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  Memory memory{};
  for (float*& level : memory.levels)
    check(cudaMalloc(&level, given.values(rows.count) * sizeof(float)), "memory");
  const auto count = static_cast<std::size_t>(given.sweeps), cells = given.row() - 2;
  check(cudaMalloc(&memory.norms, count * sizeof(float)), "memory");

  const auto sweeps = [&](cudaStream_t on) {
    for (int s = 0; s < given.sweeps; ++s) {
      float* const to = memory.levels[1 - s % 2];
      launch_sweep(given, rows, memory.levels[s % 2], to, memory.norms + s, on);
      // A group, for a send may wait for its receive.
      check(ncclGroupStart(), "ncclGroupStart");
      const auto swap_rows = [&](int peer, float* mine, float* halo) {
        if (peer < 0) return;
        check(ncclSend(mine, cells, ncclFloat, peer, comm, on), "ncclSend");
        check(ncclRecv(halo, cells, ncclFloat, peer, comm, on), "ncclRecv");
      };
      swap_rows(above, to + given.at(1, 1), to + given.at(0, 1));
      swap_rows(below, to + given.at(rows.count, 1), to + given.at(rows.count + 1, 1));
      check(ncclGroupEnd(), "ncclGroupEnd");
      check(ncclAllReduce(memory.norms + s, memory.norms + s, 1, ncclFloat, ncclMax, comm, on),
            "ncclAllReduce");
    }
  };
  run(given, rows, memory, stream, "", sweeps);  // connects the ranks, which takes a second
  const Result right = serial(given);
  std::vector<std::pair<Result, long long>> results;
  results.emplace_back(run(given, rows, memory, stream, "NCCL, stream", sweeps), 0);
  if (auto graph = run_graph(given, rows, memory, stream, "NCCL, graph", sweeps))
    results.emplace_back(std::move(*graph), 0);
  for (auto& [result, wrong] : results) wrong = wrong_values(given, rows, result, right);

  check(ncclCommDestroy(comm), "ncclCommDestroy");
  for (float* values : {memory.levels[0], memory.levels[1], memory.norms})
    check(cudaFree(values), "freeing memory");
  return report(given, right, results);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  alarm(60);  // nothing here runs for longer
  const laplace::Case given = laplace::read_case(argc, argv);
  int code = 3;
  if (take_gpu())
    code = solve(given);
  else
    std::fputs("no GPU here\n", stderr);
  MPI_Finalize();
  return code;
}
