// SPDX-License-Identifier: Apache-2.0
// A heated room in C: your own arrays and your own decisions, the heat equation by Halocline.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include <halocline/solver.h>
#define TRY(call) \
  if ((call) != HALOCLINE_OK) puts(halocline_last_error()), MPI_Abort(MPI_COMM_WORLD, 4)

static const char* heat =
    "axes = 2\n"
    "cells = [8, 8]\n"  // those of the grid count
    "precision = \"f64\"\n"
    "[fields.T]\n"
    "initial = 15\n"
    "boundary = { mixed = { a = 0.01, b = 1, c = 0.05 } }\n"  // walls lose heat; 5 degrees outside
    "[coefficients]\n"
    "heater = { value = 0 }\n"
    "[update]\n"
    "T = \"T + 0.2*laplace(T) + heater\"\n"
    "[stop]\n"
    "sweeps = 500\n";

int main(void) {
  MPI_Init(NULL, NULL);
  halocline_grid_options options = HALOCLINE_GRID_OPTIONS;
  options.cells[0] = 96, options.cells[1] = 64;
  halocline_grid* grid;
  TRY(halocline_grid_create(MPI_Comm_c2f(MPI_COMM_WORLD), &options, &grid));
  halocline_grid_info here = HALOCLINE_GRID_INFO;
  TRY(halocline_grid_get_info(grid, &here));
  const int64_t *lower = here.owned.lower, *upper = here.owned.upper;
  const int64_t width = upper[0] - lower[0], height = upper[1] - lower[1];

  // Arrays without a halo: solve() has its own.
  double* temperature = malloc(sizeof(double) * (size_t)(width * height));
  double* heater = calloc((size_t)(width * height), sizeof(double));
  for (int64_t i = 0; i < width * height; ++i) temperature[i] = 15;
  halocline_field_options array = HALOCLINE_FIELD_OPTIONS;
  array.element_bytes = sizeof(double);
  array.halo = (halocline_widths){{0, 0, 0}, {0, 0, 0}};
  halocline_solve_array arrays[] = {{"T", NULL, "both"}, {"heater", NULL, "start"}};
  TRY(halocline_field_wrap(grid, temperature, &array, &arrays[0].field));
  TRY(halocline_field_wrap(grid, heater, &array, &arrays[1].field));

  halocline_solve_options minute = HALOCLINE_SOLVE_OPTIONS;
  minute.text = heat;
  minute.arrays = arrays;
  minute.array_count = 2;
  for (int m = 1; m <= 8; ++m) {
    double sum;
    TRY(halocline_field_sum(arrays[0].field, &sum));
    const double mean = sum / (96 * 64);
    if (here.rank == 0)
      printf("minute %d: %.2f degrees, heater %s\n", m, mean, mean < 17 ? "on" : "off");
    for (int64_t y = 0; y < height; ++y)  // below the window, in the lowest rows
      for (int64_t x = 0; x < width; ++x)
        heater[y * width + x] =
            y + lower[1] < 4 && x + lower[0] >= 32 && x + lower[0] < 64 && mean < 17 ? 0.2 : 0;
    TRY(halocline_solve(grid, &minute, NULL));
  }
  for (int f = 0; f < 2; ++f) TRY(halocline_field_destroy(&arrays[f].field));
  TRY(halocline_grid_destroy(&grid));
  free(temperature);
  free(heater);
  MPI_Finalize();
}
