// Laplace's equation in C: your own arrays and loops, the halo by Halocline.
#include <math.h>
#include <mpi.h>
#include <stdio.h>

#include <halocline/halocline.h>

#define TRY(call) \
  if ((call) != HALOCLINE_OK) puts(halocline_last_error()), MPI_Abort(MPI_COMM_WORLD, 4)

static double u[2][258][258];  // two time levels, with room for a halo of one cell

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  halocline_grid_options options = HALOCLINE_GRID_OPTIONS;
  options.cells[0] = options.cells[1] = 256;
  halocline_grid* grid;
  TRY(halocline_grid_create(MPI_Comm_c2f(MPI_COMM_WORLD), &options, &grid));
  halocline_grid_info here = HALOCLINE_GRID_INFO;
  TRY(halocline_grid_get_info(grid, &here));
  halocline_field_options array = HALOCLINE_FIELD_OPTIONS;
  array.extents[0] = 258;  // the array's rows are longer than this rank's part
  halocline_field* field[2];
  halocline_exchange* exchange[2];
  for (int t = 0; t < 2; ++t) {
    TRY(halocline_field_wrap(grid, u[t], &array, &field[t]));
    TRY(halocline_exchange_create(grid, &field[t], 1, NULL, &exchange[t]));
  }
  TRY(halocline_field_noise(field[0], 12345));
  int sweeps = 0;
  for (double norm = 1; norm > 0.05; ++sweeps) {
    const int old = sweeps % 2, new = 1 - old;
    double change = 0;
    TRY(halocline_exchange_run(exchange[old], NULL));
    for (int64_t y = 1; y <= here.owned.upper[1] - here.owned.lower[1]; ++y)
      for (int64_t x = 1; x <= here.owned.upper[0] - here.owned.lower[0]; ++x) {
        u[new][y][x] =
            0.25 * ((u[old][y][x - 1] + u[old][y][x + 1]) + (u[old][y - 1][x] + u[old][y + 1][x]));
        change = fmax(change, fabs(u[new][y][x] - u[old][y][x]));
      }
    TRY(halocline_norm(grid, "max", change, &norm));
  }
  uint64_t checksum;
  TRY(halocline_field_checksum(field[sweeps % 2], &checksum));
  if (here.rank == 0) printf("%d sweeps, checksum %016llx\n", sweeps, (unsigned long long)checksum);
  MPI_Finalize();
}
