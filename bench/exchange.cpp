// SPDX-License-Identifier: Apache-2.0
// Measures an exchange against the same bytes sent by bare MPI calls, in turn, in one run.
// mpirun -n 2 bench_exchange
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <halocline/halocline.hpp>
#include <halocline/mpi.hpp>

#include "timing.hpp"

namespace {

using namespace halocline;
using bench::summary;
using bench::time_of;
using bench::Times;

constexpr int repetitions = 11;

/// What a careful programmer writes for two ranks: persistent requests, hand-packed columns.
class BareExchange {
 public:
  BareExchange(const Field<double>& field, const Grid& grid, int axis)
      : field_(field), owned_(grid.owned()), axis_(axis) {
    const int rank = grid.rank(), peer = 1 - rank;
    const auto count = static_cast<int>(owned_.extent()[1 - axis]);
    send_.resize(static_cast<std::size_t>(count));
    receive_.resize(static_cast<std::size_t>(count));
    ours_ = rank == 0 ? owned_.upper[axis] - 1 : owned_.lower[axis];
    theirs_ = rank == 0 ? owned_.upper[axis] : owned_.lower[axis] - 1;
    double* out = axis == 1 ? &field(owned_.lower.x, ours_) : send_.data();
    double* in = axis == 1 ? &field(owned_.lower.x, theirs_) : receive_.data();
    MPI_Recv_init(in, count, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &requests_[0]);
    MPI_Send_init(out, count, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &requests_[1]);
  }
  ~BareExchange() {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }
  BareExchange(const BareExchange&) = delete;
  BareExchange& operator=(const BareExchange&) = delete;

  void run() {
    if (axis_ == 0)
      for (auto y = owned_.lower.y; y < owned_.upper.y; ++y)
        send_[static_cast<std::size_t>(y - owned_.lower.y)] = field_(ours_, y);
    MPI_Startall(2, requests_);
    MPI_Waitall(2, requests_, MPI_STATUSES_IGNORE);
    if (axis_ == 0)
      for (auto y = owned_.lower.y; y < owned_.upper.y; ++y)
        field_(theirs_, y) = receive_[static_cast<std::size_t>(y - owned_.lower.y)];
  }

 private:
  const Field<double>& field_;
  Box owned_;
  int axis_;
  std::int64_t ours_, theirs_;
  std::vector<double> send_, receive_;
  MPI_Request requests_[2];
};

void measure(const Communicator& world, int axis, std::int64_t face_cells) {
  Int3 cells{16, 16, 1}, parts{1, 1, 1};
  cells[1 - axis] = face_cells;
  parts[axis] = 2;
  const Grid grid(world, {.cells = Extents(cells, 2), .process_grid = Extents(parts, 2)});
  const Field<double> field(grid, {.name = "u"});
  const auto exchange = [&](const char* transport) {
    return Exchange(world, grid, {field},
                    {.neighbours = Neighbours::faces, .transport = transport});
  };
  Exchange by_mpi = exchange("mpi"), by_shared = exchange("shared");
  BareExchange bare(field, grid, axis);

  const int calls =
      static_cast<int>(std::clamp<std::int64_t>(40'000'000 / (face_cells * 8 + 20'000), 10, 2000));
  std::vector<double> bare_us, mpi_us, shared_us, ratios;
  for (int r = 0; r < repetitions; ++r) {
    bare_us.push_back(time_of(calls, [&] { bare.run(); }));
    mpi_us.push_back(time_of(calls, [&] { by_mpi.run(); }));
    shared_us.push_back(time_of(calls, [&] { by_shared.run(); }));
    ratios.push_back(mpi_us.back() / bare_us.back());
  }
  if (world.rank() != 0) return;
  const Times b = summary(bare_us), m = summary(mpi_us), s = summary(shared_us);
  std::printf("%-10s %10lld %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f %8.2f\n",
              axis == 1 ? "contiguous" : "strided", static_cast<long long>(face_cells) * 8, b.best,
              b.median, m.best, m.median, s.best, s.median, summary(ratios).median);
}

}  // namespace

int main() {
  const Runtime runtime;
  const Communicator world = Communicator::world();
  if (world.size() != 2) {
    std::fprintf(stderr, "bench_exchange runs on 2 ranks, not %d\n", world.size());
    return 2;
  }
  if (world.rank() == 0)
    std::printf(
        "us per exchange of one face each way, 2 ranks, %d repetitions\n"
        "%-10s %10s %19s %19s %19s %8s\n%-10s %10s %9s %9s %9s %9s %9s %9s %8s\n",
        repetitions, "", "", "bare MPI", "transport mpi", "transport shared", "mpi/bare", "face",
        "bytes", "best", "median", "best", "median", "best", "median", "median");
  for (const int axis : {1, 0})
    for (std::int64_t face = 128; face <= 1 << 20; face *= 8) measure(world, axis, face);
}
