// SPDX-License-Identifier: Apache-2.0
// Laplace's equation with NVSHMEM's calls for the host: a row is written into the neighbour's
// level, with the number of its sweep as a signal, and the stream waits for the signals of the
// neighbours.
#include <nvshmem_host.h>
#include <unistd.h>

#include "../laplace.cuh"

/// Symmetric memory, zeroed. Collective.
template <class T>
static T* symmetric(std::size_t count) {
  auto* const memory = static_cast<T*>(nvshmem_align(512, count * sizeof(T)));
  if (memory == nullptr) {
    std::fputs("NVSHMEM has no memory left: NVSHMEM_SYMMETRIC_SIZE sets how much it has\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 4);
  }
  check(cudaMemset(memory, 0, count * sizeof(T)), "clearing memory");
  return memory;
}

/// False unless NVSHMEM has started with a GPU for each rank. Collective.
static bool start(int rank, int ranks) {
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;  // MPI only starts: where to meet
  if (rank == 0) nvshmemx_get_uniqueid(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
  nvshmemx_set_attr_uniqueid_args(rank, ranks, &id, &attr);
  nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr);  // 0 also where it fails
  int is_ready = nvshmemx_init_status() == NVSHMEM_STATUS_IS_INITIALIZED;
  MPI_Allreduce(MPI_IN_PLACE, &is_ready, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return is_ready != 0;
}

static int solve(const laplace::Case& given) {
  using namespace laplace;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!start(rank, ranks)) {
    if (rank == 0) std::fputs("NVSHMEM did not start; it takes a GPU for each rank\n", stderr);
    return 3;
  }
  const Rows rows = rows_of(given, rank, ranks);
  const int above = rank - 1, below = rank + 1 < ranks ? rank + 1 : -1;  // -1: the frame
  const int rows_above = above < 0 ? 0 : rows_of(given, above, ranks).count;

  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  // The first rank has the most rows, and all must allocate as much.
  const std::size_t level = given.values(rows_of(given, 0, ranks).count);
  const Memory memory{{symmetric<float>(level), symmetric<float>(level)},
                      symmetric<float>(static_cast<std::size_t>(given.sweeps))};
  auto* const signals = symmetric<std::uint64_t>(2);  // from above and from below

  const auto sweeps = [&](cudaStream_t on) {
    for (int s = 0; s < given.sweeps; ++s) {
      float* const to = memory.levels[1 - s % 2];
      const auto number = static_cast<std::uint64_t>(s) + 1;
      launch_sweep(given, rows, memory.levels[s % 2], to, memory.norms + s, on);
      // The neighbour no longer reads the row: it has sent its own of the sweep before after that.
      const auto put = [&](int peer, float* there, const float* mine, std::uint64_t* signal) {
        if (peer >= 0)
          nvshmemx_putmem_signal_on_stream(there, mine, (given.row() - 2) * sizeof(float), signal,
                                           number, NVSHMEM_SIGNAL_SET, peer, on);
      };
      put(above, to + given.at(rows_above + 1, 1), to + given.at(1, 1), signals + 1);
      put(below, to + given.at(0, 1), to + given.at(rows.count, 1), signals);
      if (above >= 0) nvshmemx_signal_wait_until_on_stream(signals, NVSHMEM_CMP_GE, number, on);
      if (below >= 0) nvshmemx_signal_wait_until_on_stream(signals + 1, NVSHMEM_CMP_GE, number, on);
      if (nvshmemx_float_max_reduce_on_stream(NVSHMEM_TEAM_WORLD, memory.norms + s,
                                              memory.norms + s, 1, on) != 0)
        check(cudaErrorUnknown, "nvshmemx_float_max_reduce_on_stream");
    }
  };
  // Each run counts its sweeps from 1.
  const auto clear = [&] { check(cudaMemset(signals, 0, 2 * sizeof *signals), "the signals"); };
  clear();
  run(given, rows, memory, stream, "", sweeps);  // not timed: the first use of everything
  const Result right = serial(given);
  std::vector<std::pair<Result, long long>> results;
  clear();
  results.emplace_back(run(given, rows, memory, stream, "NVSHMEM, stream", sweeps), 0);
  clear();
  if (auto graph = run_graph(given, rows, memory, stream, "NVSHMEM, graph", sweeps))
    results.emplace_back(std::move(*graph), 0);
  for (auto& [result, wrong] : results) wrong = wrong_values(given, rows, result, right);

  for (void* values : {static_cast<void*>(memory.levels[0]), static_cast<void*>(memory.levels[1]),
                       static_cast<void*>(memory.norms), static_cast<void*>(signals)})
    nvshmem_free(values);
  nvshmemx_hostlib_finalize();
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
