// SPDX-License-Identifier: Apache-2.0
// Measures exchanges of fields in device memory against the same bytes sent by a bare MPI program
// in the same run: staged by hand, or device pointers given to MPI.
//
//   mpirun -n 2 bench_gpu_exchange [gpu_aware]      without the word, staged only: an MPI that is
//                                                   not GPU-aware dies of it
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <halocline/halocline.hpp>
#include <halocline/mpi.hpp>

#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "machine/gpu_binding.hpp"
#include "timing.hpp"

namespace {

using namespace halocline;
constexpr int repetitions = 11;

/// What a careful programmer writes for two ranks and a row each: persistent requests, and the row
/// copied through pinned memory, or given to MPI as it is.
class BareExchange {
 public:
  enum class Path { staged, gpu_aware };

  BareExchange(const Field<double>& field, const Grid& grid, Path path, Stream stream)
      : path_(path), stream_(stream), count_(grid.owned().extent().x) {
    const Box owned = grid.owned();
    const bool lower = grid.rank() == 0;
    send_ = &field(owned.lower.x, lower ? owned.upper.y - 1 : owned.lower.y);
    receive_ = &field(owned.lower.x, lower ? owned.upper.y : owned.lower.y - 1);
    double *out = send_, *in = receive_;
    if (path == Path::staged) {
      pinned_ = device::allocate(Memory::pinned, 2 * bytes());
      out = static_cast<double*>(pinned_.get());
      in = out + count_;
    }
    const auto count = static_cast<int>(count_);
    const int peer = 1 - grid.rank();
    MPI_Recv_init(in, count, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &requests_[0]);
    MPI_Send_init(out, count, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &requests_[1]);
  }
  ~BareExchange() {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }
  BareExchange(const BareExchange&) = delete;
  BareExchange& operator=(const BareExchange&) = delete;

  void run() {
    auto* const out = static_cast<double*>(pinned_.get());
    if (path_ == Path::staged) device::copy(out, send_, bytes(), stream_);
    device::synchronize(stream_);
    MPI_Startall(2, requests_);
    MPI_Waitall(2, requests_, MPI_STATUSES_IGNORE);
    if (path_ == Path::staged) device::copy(receive_, out + count_, bytes(), stream_);
  }

 private:
  std::int64_t bytes() const { return count_ * std::int64_t{sizeof(double)}; }

  Path path_;
  Stream stream_;
  std::int64_t count_;
  double *send_, *receive_;
  std::shared_ptr<void> pinned_;
  MPI_Request requests_[2];
};

void measure(const Communicator& world, BareExchange::Path path, std::int64_t face_cells) {
  const bool staged = path == BareExchange::Path::staged;
  const Grid grid(world, {.cells = {face_cells, 16}, .process_grid = {1, 2}});
  const Field<double> field(grid, {.name = "u", .memory = Memory::device});
  const device::OwnedStream stream;
  Exchange ours(world, grid, {field},
                {.neighbours = Neighbours::faces, .transport = staged ? "staged" : "gpu_aware"});
  BareExchange bare(field, grid, path, stream.get());

  const int calls =
      static_cast<int>(std::clamp<std::int64_t>(40'000'000 / (face_cells * 8 + 20'000), 5, 500));
  const bench::Compared times = bench::compared(
      repetitions, calls, [&] { bare.run(); }, [&] { ours.run(stream.get()); },
      [&] { device::synchronize(stream.get()); });
  if (world.rank() != 0) return;
  const bench::Times &b = times.first, &o = times.second;
  fmt::print("{:<10} {:>10} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>8.2f}\n",
             staged ? "staged" : "gpu_aware", face_cells * 8, b.best, b.median, o.best, o.median,
             times.ratio);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const Runtime runtime;
  const Communicator world = Communicator::world();
  try {
    if (world.size() != 2)
      throw Error(ErrorKind::usage, fmt::format("runs on 2 ranks, not {}", world.size()));
    const machine::GpuBinding binding = machine::bind_gpu(world);
    if (world.rank() == 0)
      fmt::print(
          "us per exchange of one row each way, 2 ranks, {}, {} on each, {} repetitions\n"
          "{:<10} {:>10} {:>19} {:>19} {:>8}\n{:<10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>8}\n",
          binding.gpu.name, binding.ranks_on_gpu, repetitions, "", "", "bare MPI", "Halocline",
          "ratio", "path", "bytes", "best", "median", "best", "median", "median");
    std::vector<BareExchange::Path> paths{BareExchange::Path::staged};
    if (argc > 1 && std::string(argv[1]) == "gpu_aware")
      paths.push_back(BareExchange::Path::gpu_aware);
    for (const auto path : paths)
      for (std::int64_t face = 128; face <= std::int64_t{1} << 22; face *= 8)
        measure(world, path, face);
    return 0;
  } catch (const Error& error) {
    if (world.rank() == 0) fmt::print(stderr, "bench_gpu_exchange: {}\n", error.what());
    return 3;
  }
}
