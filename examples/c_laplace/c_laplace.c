// SPDX-License-Identifier: Apache-2.0
// Laplace's equation in C: your own arrays and loops, the halo by Halocline.
#include <mpi.h>
#include <stdio.h>

#include <halocline/halocline.h>
#define TRY(call) \
  if ((call) != HALOCLINE_OK) puts(halocline_last_error()), MPI_Abort(MPI_COMM_WORLD, 4)

int main(void) {
  static double u[2][258][258];  // two time levels, with room for a halo of one cell
  const int sweeps = 199;
  MPI_Init(NULL, NULL);
  halocline_grid_options options = HALOCLINE_GRID_OPTIONS;
  options.cells[0] = options.cells[1] = 256;
  halocline_grid* grid;
  TRY(halocline_grid_create(MPI_Comm_c2f(MPI_COMM_WORLD), &options, &grid));
  halocline_grid_info here = HALOCLINE_GRID_INFO;
  TRY(halocline_grid_get_info(grid, &here));
  halocline_field_options array = HALOCLINE_FIELD_OPTIONS;
  array.element_bytes = sizeof(double);
  array.extents[0] = 258;  // rows may be longer than what this rank needs
  array.halo = (halocline_widths){{1, 1}, {1, 1}};
  halocline_field* field[2];
  halocline_exchange* halo[2];
  for (int t = 0; t < 2; ++t) {
    TRY(halocline_field_wrap(grid, u[t], &array, &field[t]));
    TRY(halocline_exchange_create(grid, &field[t], 1, NULL, &halo[t]));
  }
  TRY(halocline_field_noise(field[0], 12345));
  for (int s = 0; s < sweeps; ++s) {
    double(*a)[258] = u[s % 2], (*b)[258] = u[1 - s % 2];
    TRY(halocline_exchange_run(halo[s % 2], NULL));
    for (int64_t y = 1; y <= here.owned.upper[1] - here.owned.lower[1]; ++y)
      for (int64_t x = 1; x <= here.owned.upper[0] - here.owned.lower[0]; ++x)
        b[y][x] = 0.25 * ((a[y][x - 1] + a[y][x + 1]) + (a[y - 1][x] + a[y + 1][x]));
  }
  uint64_t checksum;
  TRY(halocline_field_checksum(field[sweeps % 2], &checksum));
  if (here.rank == 0) printf("%d sweeps, checksum %016llx\n", sweeps, (unsigned long long)checksum);
  for (int t = 0; t < 2; ++t) {
    TRY(halocline_exchange_destroy(&halo[t]));
    TRY(halocline_field_destroy(&field[t]));
  }
  TRY(halocline_grid_destroy(&grid));
  MPI_Finalize();
}
