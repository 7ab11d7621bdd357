// SPDX-License-Identifier: Apache-2.0
// Laplace's equation with OpenACC in C, a GPU per rank: your own arrays and loops, the halo by
// Halocline, on the queue of the loops. Where there is no GPU, the directives run on the host.
#include <math.h>
#include <mpi.h>
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halocline/halocline.h>

enum { queue = 1 };

struct options {
  long cells[2];
  long sweeps;
  double tolerance;
  const char *transport, *json;
};

static void end_with(int code, const char* what) {
  fprintf(stderr, "%s\n", what);
  MPI_Abort(MPI_COMM_WORLD, code);
}

static void check(halocline_status status) {
  if (status != HALOCLINE_OK) end_with(4, halocline_last_error());
}

static struct options read_options(int count, char** words) {
  struct options options = {{1024, 1024}, 526, 0.05, getenv("LAPLACE_TRANSPORT"), NULL};
  if (options.transport == NULL || *options.transport == '\0') options.transport = "auto";
  for (int i = 1; i < count; i += 2) {
    const char *name = words[i], *value = i + 1 < count ? words[i + 1] : "";
    char* end = "";
    if (strcmp(name, "--cells") == 0) {
      options.cells[0] = strtol(value, &end, 10);
      options.cells[1] = *end == 'x' ? strtol(end + 1, &end, 10) : 0;
    } else if (strcmp(name, "--sweeps") == 0) {
      options.sweeps = strtol(value, &end, 10);
    } else if (strcmp(name, "--tolerance") == 0) {
      options.tolerance = strtod(value, &end);
    } else if (strcmp(name, "--transport") == 0) {
      options.transport = value;
    } else if (strcmp(name, "--json") == 0) {
      options.json = value;
    } else {
      end = "?";
    }
    if (*value == '\0' || *end != '\0' || options.cells[0] < 1 || options.cells[1] < 1 ||
        options.sweeps < 1)
      end_with(2, "options: --cells NXxNY --sweeps N --tolerance T --transport NAME --json FILE");
  }
  return options;
}

// Comes before the first directive: all of them, and Halocline, then use one CUDA context.
static int choose_device(int communicator) {
  halocline_device_info gpu = HALOCLINE_DEVICE_INFO;
  const int on_gpu = halocline_bind_device(communicator, &gpu) == HALOCLINE_OK &&
                     acc_get_num_devices(acc_device_nvidia) > 0;
  if (on_gpu)
    acc_set_device_num(gpu.ordinal, acc_device_nvidia);
  else
    acc_set_device_type(acc_device_host);
  return on_gpu;
}

// Updates every cell once; returns the largest change of this rank's.
static double sweep(long nx, long ny, const double* restrict from, double* restrict to) {
  const long row = nx + 2, all = row * (ny + 2);
  double change = 0;
#pragma acc parallel loop gang present(from [0:all], to [0:all]) reduction(max \
                                                                           : change) async(queue)
  for (long y = 1; y <= ny; ++y) {
#pragma acc loop vector reduction(max : change)
    for (long x = 1; x <= nx; ++x) {
      const long i = y * row + x;
      const double value = 0.25 * ((from[i - 1] + from[i + 1]) + (from[i - row] + from[i + row]));
      const double by = fabs(value - from[i]);
      change = by > change ? by : change;
      to[i] = value;
    }
  }
#pragma acc wait(queue)
  return change;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const struct options options = read_options(argc, argv);
  const double started = MPI_Wtime();
  const int world = MPI_Comm_c2f(MPI_COMM_WORLD);
  const int on_gpu = choose_device(world);

  // Split along y alone: a row of halo has no gaps in memory, and goes as it is.
  halocline_grid_options split = HALOCLINE_GRID_OPTIONS;
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  split.cells[0] = options.cells[0];
  split.cells[1] = options.cells[1];
  split.process_grid[0] = split.process_grid[2] = 1;
  split.process_grid[1] = ranks;
  halocline_grid* grid;
  check(halocline_grid_create(world, &split, &grid));
  halocline_grid_info here = HALOCLINE_GRID_INFO;
  check(halocline_grid_get_info(grid, &here));
  const long nx = here.owned.upper[0] - here.owned.lower[0];
  const long ny = here.owned.upper[1] - here.owned.lower[1];

  // Two time levels, a halo of one cell.
  const size_t values = (size_t)(nx + 2) * (size_t)(ny + 2);
  double *u = calloc(values, sizeof(double)), *v = calloc(values, sizeof(double));
  if (u == NULL || v == NULL) end_with(4, "no memory for two time levels; use more ranks");
  double* level[2] = {u, v};
  halocline_field* field[2];
  halocline_exchange* exchange[2];
  for (int t = 0; t < 2; ++t) {
    double* array = level[t];
#pragma acc enter data copyin(array [0:values])
    halocline_field_options on = HALOCLINE_FIELD_OPTIONS;
    on.element_bytes = sizeof(double);
    on.memory = on_gpu ? "device" : "host";
#pragma acc host_data use_device(array)
    check(halocline_field_wrap(grid, array, &on, &field[t]));
    halocline_exchange_options how = HALOCLINE_EXCHANGE_OPTIONS;
    how.neighbours = "faces";
    how.transport = options.transport;
    check(halocline_exchange_create(grid, &field[t], 1, &how, &exchange[t]));
  }
  check(halocline_field_noise(field[0], 12345));
  void* const stream = acc_get_cuda_stream(queue);

  const double begun = MPI_Wtime();
  double change, first = 0;
  long sweeps = 0;
  int old, new = 0;
  do {
    old = new;
    new = 1 - old;
    check(halocline_exchange_run(exchange[old], stream));
    check(halocline_norm(grid, "max", sweep(nx, ny, level[old], level[new]), &change));
    if (++sweeps == 1) first = MPI_Wtime();
  } while (change > options.tolerance && sweeps < options.sweeps);
  const double ended = MPI_Wtime();

  halocline_report_options report = HALOCLINE_REPORT_OPTIONS;
  report.problem = "laplace";
  report.backend = "openacc";
  report.sweeps = sweeps;
  report.norm = "max";
  report.norm_value = change;
  report.tolerance = options.tolerance;
  report.setup_seconds = begun - started;
  report.first_sweep_seconds = first - begun;
  report.loop_seconds = ended - first;
  report.json = options.json;
  if (options.json != NULL && strcmp(options.json, "-") == 0) report.text = NULL;
  check(halocline_report_write(field[new], exchange[old], &report));
  if (here.rank == 0 && !on_gpu && report.text != NULL)
    printf("\nthe directives ran on the host\n");

  for (int t = 0; t < 2; ++t) {
    double* array = level[t];
    check(halocline_exchange_destroy(&exchange[t]));
    check(halocline_field_destroy(&field[t]));
#pragma acc exit data delete (array [0:values])
    free(array);
  }
  check(halocline_grid_destroy(&grid));
  MPI_Finalize();
}
