// SPDX-License-Identifier: Apache-2.0
// The halo of a mesh on any 2-D process grid, in plain MPI.
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "../whole_number.hpp"

namespace {

constexpr int nx = 60, ny = 40;  // cells of every rank
constexpr int row = nx + 2;      // with a halo cell at either end

// The value of a cell says where it is. Outside the mesh it is the -1 that was there before.
double value_at(int x, int y, const std::array<int, 2>& grid) {
  if (x < 0 || y < 0 || x >= nx * grid[0] || y >= ny * grid[1]) return -1;
  return x + 1e4 * y;
}

// Posts all receives, then all sends, then waits for everything: no send waits for another pair of
// ranks. At the edge of the mesh the neighbour is MPI_PROC_NULL, and nothing happens.
void exchange(double* u, MPI_Comm mesh) {
  MPI_Datatype column;  // one cell of each row
  MPI_Type_vector(ny, 1, row, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  int west, east, south, north;
  MPI_Cart_shift(mesh, 0, 1, &west, &east);
  MPI_Cart_shift(mesh, 1, 1, &south, &north);
  double* first = u + row + 1;  // the first own cell
  double* last_row = u + ny * row + 1;
  const struct Side {
    int neighbour;
    double *own, *halo;
    int count;
    MPI_Datatype type;
  } sides[] = {{west, first, first - 1, 1, column},
               {east, first + nx - 1, first + nx, 1, column},
               {south, first, first - row, nx, MPI_DOUBLE},
               {north, last_row, last_row + row, nx, MPI_DOUBLE}};
  MPI_Request requests[8];
  // The tag is the side as the sender sees it: what leaves by side s arrives at the opposite one.
  for (int s = 0; s < 4; ++s)
    MPI_Irecv(sides[s].halo, sides[s].count, sides[s].type, sides[s].neighbour, s ^ 1, mesh,
              &requests[s]);
  for (int s = 0; s < 4; ++s)
    MPI_Isend(sides[s].own, sides[s].count, sides[s].type, sides[s].neighbour, s, mesh,
              &requests[4 + s]);
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
  MPI_Type_free(&column);
}

}  // namespace

int main(int argc, char** argv) {
  alarm(60);  // nothing here runs for longer
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::array<int, 2> grid{}, periodic{}, place{};
  bool good_grid = argc == 1 || argc == 3;
  for (int axis = 0; axis < 2 && argc == 3; ++axis) {
    const auto parts = whole_number(argv[axis + 1], 1, ranks);
    grid[static_cast<std::size_t>(axis)] = static_cast<int>(parts.value_or(0));
  }
  if (argc == 1) MPI_Dims_create(ranks, 2, grid.data());  // as square as can be
  good_grid &= static_cast<long long>(grid[0]) * grid[1] == ranks;
  if (!good_grid) {
    if (rank == 0)
      std::fprintf(stderr, "usage: mesh [PX PY], a process grid with PX * PY = %d ranks\n", ranks);
    MPI_Finalize();
    return 2;
  }
  MPI_Comm mesh;
  MPI_Cart_create(MPI_COMM_WORLD, 2, grid.data(), periodic.data(), 1, &mesh);
  MPI_Comm_rank(mesh, &rank);  // may be another one now
  MPI_Cart_coords(mesh, rank, 2, place.data());

  std::vector<double> u(static_cast<std::size_t>(row) * (ny + 2), -1.0);
  const auto at = [&](int x, int y) -> double& {
    return u[static_cast<std::size_t>(y + 1) * row + static_cast<std::size_t>(x + 1)];
  };
  for (int y = 0; y < ny; ++y)
    for (int x = 0; x < nx; ++x) at(x, y) = value_at(place[0] * nx + x, place[1] * ny + y, grid);
  exchange(u.data(), mesh);

  long long wrong = 0;
  for (int y = -1; y <= ny; ++y)
    for (int x = -1; x <= nx; ++x) {
      const bool corner = (x < 0 || x == nx) && (y < 0 || y == ny);  // not asked for: five points
      wrong += !corner && at(x, y) != value_at(place[0] * nx + x, place[1] * ny + y, grid);
    }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG_LONG, MPI_SUM, mesh);
  if (rank == 0)
    std::printf("process grid %dx%d, %dx%d cells each, wrong values: %lld\n", grid[0], grid[1], nx,
                ny, wrong);
  MPI_Comm_free(&mesh);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
