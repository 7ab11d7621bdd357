// SPDX-License-Identifier: Apache-2.0
// halocline_solve from a C program: problems by name and by text, arrays of the program, reports,
// wrong arguments.
#include <math.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halocline/solver.h>

#include "checks.h"

static halocline_grid* make_grid(void) {
  halocline_grid_options options = HALOCLINE_GRID_OPTIONS;
  options.cells[0] = 26;
  options.cells[1] = 22;
  halocline_grid* grid = NULL;
  OK(halocline_grid_create(MPI_Comm_c2f(MPI_COMM_WORLD), &options, &grid));
  return grid;
}

static halocline_option given[8];

// Gives an option, another value of one, or with null takes it away.
static void set(halocline_solve_options* options, const char* name, const char* value) {
  int at = 0;
  while (at < options->option_count && strcmp(given[at].name, name) != 0) ++at;
  if (value == NULL)
    given[at] = given[--options->option_count];
  else
    given[at] = (halocline_option){name, value};
  if (at == options->option_count && value != NULL) ++options->option_count;
}

static halocline_solve_options quick(void) {
  halocline_solve_options options = HALOCLINE_SOLVE_OPTIONS;
  options.options = given;
  set(&options, "backend", "cpu");
  set(&options, "threads", "1");
  set(&options, "tuning_seconds", "0");
  return options;
}

// The program's array, whose rows are longer than they have to be, has the noise that laplace
// starts from: two runs of it are one run without it.
static void arrays_are_start_and_result(void) {
  halocline_grid* grid = make_grid();
  halocline_grid_info info = HALOCLINE_GRID_INFO;
  OK(halocline_grid_get_info(grid, &info));
  const int64_t width = info.owned.upper[0] - info.owned.lower[0] + 4,
                height = info.owned.upper[1] - info.owned.lower[1] + 4, pitch = width + 3;
  double* cells = calloc((size_t)(pitch * height), sizeof *cells);
  halocline_field_options wrapped = HALOCLINE_FIELD_OPTIONS;
  wrapped.element_bytes = sizeof(double);
  for (int axis = 0; axis < 2; ++axis) wrapped.halo.lower[axis] = wrapped.halo.upper[axis] = 2;
  wrapped.extents[0] = width;
  wrapped.extents[1] = height;
  wrapped.extents[2] = 1;
  wrapped.strides[0] = 1;
  wrapped.strides[1] = pitch;
  wrapped.strides[2] = pitch * height;
  halocline_field* field = NULL;
  OK(halocline_field_wrap(grid, cells, &wrapped, &field));
  OK(halocline_field_noise(field, 12345));

  halocline_solve_options options = quick();
  options.problem = "laplace";
  set(&options, "precision", "f64");
  set(&options, "sweeps", "20");
  set(&options, "norm", "max");
  halocline_solve_result expected = HALOCLINE_SOLVE_RESULT, result = HALOCLINE_SOLVE_RESULT;
  OK(halocline_solve(grid, &options, &expected));
  CHECK(expected.sweeps == 20 && expected.glups > 0 && isfinite(expected.norm));

  const halocline_solve_array array = {"u", field, NULL};
  set(&options, "precision", NULL);  // the array's
  options.arrays = &array;
  options.array_count = 1;
  set(&options, "sweeps", "12");
  OK(halocline_solve(grid, &options, &result));
  set(&options, "sweeps", "8");
  OK(halocline_solve(grid, &options, &result));
  CHECK(result.sweeps == 8 && result.checksum == expected.checksum && result.norm == expected.norm);
  uint64_t checksum = 0;
  OK(halocline_field_checksum(field, &checksum));
  CHECK(checksum == expected.checksum);
  CHECK(cells[0] == 0.0);  // a halo cell

  OK(halocline_field_destroy(&field));
  OK(halocline_grid_destroy(&grid));
  free(cells);
}

static const char* decay =
    "axes = 2\n"
    "cells = [4, 4]\n"
    "[parameters]\n"
    "rate = 0.5\n"
    "[fields.u]\n"
    "initial = 1\n"
    "boundary = \"periodic\"\n"
    "[update]\n"
    "u = \"u - rate*u\"\n"
    "[stop]\n"
    "sweeps = 3\n"
    "norm = \"max\"\n";

static void texts_parameters_and_tolerances(void) {
  halocline_grid* grid = make_grid();
  halocline_solve_options options = quick();
  options.text = decay;
  halocline_solve_result result = HALOCLINE_SOLVE_RESULT;
  OK(halocline_solve(grid, &options, &result));
  CHECK(result.sweeps == 3 && result.sum == 26 * 22 * 0.125 && !result.converged);

  const halocline_parameter rate = {"rate", 0.75};
  options.parameters = &rate;
  options.parameter_count = 1;
  set(&options, "sweeps", "100");
  set(&options, "tolerance", "0.1");
  OK(halocline_solve(grid, &options, &result));
  // Changes of 0.75, 0.1875, 0.046875.
  CHECK(result.sweeps == 3 && result.converged && result.norm == 0.046875);
  set(&options, "norm", "none");
  set(&options, "tolerance", NULL);
  set(&options, "sweeps", "1");
  OK(halocline_solve(grid, &options, &result));
  CHECK(isnan(result.norm) && result.sum == 26 * 22 * 0.25);
  OK(halocline_solve(grid, &options, NULL));
  OK(halocline_grid_destroy(&grid));
}

// Whether the report of a run has these words.
static int report_says(halocline_grid* grid, halocline_solve_options options, const char* words) {
  int found = 0;
  options.json = "c_solver_report.json";
  OK(halocline_solve(grid, &options, NULL));
  if (rank == 0) {
    char text[4096];
    read_file(options.json, text, sizeof text);
    found = strstr(text, words) != NULL;
    remove(options.json);
  }
  MPI_Bcast(&found, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return found;
}

static void reports_are_written(void) {
  halocline_grid* grid = make_grid();
  halocline_solve_options options = quick();
  options.text = decay;
  CHECK(report_says(grid, options, "\"checksum\""));
  halocline_solve_result result = HALOCLINE_SOLVE_RESULT;
  OK(halocline_solve(grid, &options, &result));
  CHECK((strstr(result.report, "result        3 sweeps") != NULL) == (rank == 0));
  CHECK((strstr(result.json, "\"norm_history\"") != NULL) == (rank == 0));
  options.json = "no/such/folder/report.json";
  FAILS(halocline_solve(grid, &options, &result), USAGE, "no/such/folder");
  CHECK(result.sweeps == 3);
  OK(halocline_grid_destroy(&grid));
}

struct seen {
  int64_t sweep, stops;
};

static void see(const halocline_progress* progress, void* user) {
  CHECK(rank == 0 && progress->struct_size == sizeof *progress);
  CHECK(progress->sweep > 0 && progress->sweeps == 100000000 && progress->first == 0);
  CHECK(progress->sweep < 2000 || progress->norm == 0);  // on busy machines only the first norm
  CHECK(progress->saved == -1 && progress->seconds > 0);
  ((struct seen*)user)->sweep = progress->sweep;
}

static const char* stop_if_seen(void* user) {
  struct seen* seen = user;
  ++seen->stops;
  return seen->sweep > 0 ? "seen" : NULL;
}

static void programs_see_progress_and_stop_runs(void) {
  halocline_grid* grid = make_grid();
  halocline_solve_options options = quick();
  options.text = decay;
  set(&options, "sweeps", "100000000");
  set(&options, "norm_every", "1000");
  struct seen seen = {0, 0};
  options.on_progress = see;
  options.stop_request = stop_if_seen;
  options.user = &seen;
  halocline_solve_result result = HALOCLINE_SOLVE_RESULT;
  OK(halocline_solve(grid, &options, &result));
  CHECK(result.sweeps >= seen.sweep && result.sweeps < 100000000 && seen.stops > 0);
  CHECK((seen.sweep > 0) == (rank == 0));
  CHECK((strstr(result.json, "\"stopped_by\": \"seen\"") != NULL) == (rank == 0));
  OK(halocline_grid_destroy(&grid));
}

// Their structs end before on_progress and report.
static void programs_of_an_earlier_version_solve(void) {
  halocline_grid* grid = make_grid();
  halocline_solve_options options = quick();
  options.text = decay;
  options.struct_size = offsetof(halocline_solve_options, on_progress);
  memset(&options.on_progress, 0x55, sizeof options - options.struct_size);
  halocline_solve_result result = HALOCLINE_SOLVE_RESULT;
  result.struct_size = offsetof(halocline_solve_result, report);
  OK(halocline_solve(grid, &options, &result));
  CHECK(result.sweeps == 3 && result.report == NULL && result.json == NULL);
  CHECK(result.struct_size == offsetof(halocline_solve_result, report));
  OK(halocline_grid_destroy(&grid));
}

static void solves_are_described(void) {
  halocline_solve_options options = quick();
  options.problem = "gray_scott";
  set(&options, "cells", "32x16");
  const char* json = NULL;
  OK(halocline_describe_solve(&options, 2, &json));
  CHECK(strstr(json, "\"cells\": [32, 16]") != NULL);
  CHECK(strstr(json, "\"fields\": [\"u\", \"v\"]") != NULL);
  CHECK(strstr(json, "\"value\": 0.16") != NULL);
  FAILS(halocline_describe_solve(&options, 2, NULL), USAGE, "null pointer");
  FAILS(halocline_describe_solve(&options, 100000, &json), USAGE, "ranks");
  set(&options, "cells", NULL);
  options.text = "axes = 2\ncolour = 1\n";
  FAILS(halocline_describe_solve(&options, 1, &json), USAGE, "gray_scott:2");
}

static void fields_lie_in_bricks(void) {
  halocline_grid* grid = make_grid();
  halocline_solve_options options = quick();
  options.problem = "laplace";
  set(&options, "sweeps", "9");
  halocline_solve_result in_rows = HALOCLINE_SOLVE_RESULT, result = HALOCLINE_SOLVE_RESULT;
  OK(halocline_solve(grid, &options, &in_rows));
  CHECK(report_says(grid, options, "\"brick\": []"));
  set(&options, "layout", "brick:16x4");
  OK(halocline_solve(grid, &options, &result));
  CHECK(result.checksum == in_rows.checksum && result.norm == in_rows.norm);
  CHECK(report_says(grid, options, "\"brick\": [16, 4]"));
  set(&options, "layout", "auto");
  CHECK(report_says(grid, options, "\"brick\": []"));
  set(&options, "layout", "heap");
  FAILS(halocline_solve(grid, &options, NULL), USAGE, "heap");
  OK(halocline_grid_destroy(&grid));
}

// Two fields with halos of their own; only owned cells are written and read.
static void checkpoints_are_read_back(void) {
  halocline_grid* grid = make_grid();
  halocline_field_options doubles = HALOCLINE_FIELD_OPTIONS;
  doubles.element_bytes = sizeof(double);
  halocline_field_options wide = doubles;
  wide.halo.lower[0] = 3;
  halocline_field *u = NULL, *v = NULL, *read = NULL, *single = NULL;
  OK(halocline_field_create(grid, &doubles, &u));
  OK(halocline_field_create(grid, &wide, &v));
  OK(halocline_field_create(grid, &wide, &read));
  wide.element_bytes = 4;
  OK(halocline_field_create(grid, &wide, &single));
  OK(halocline_field_noise(u, 1));
  OK(halocline_field_noise(v, 2));
  const halocline_named_field both[] = {{"u", u}, {"v-2.b", v}};
  halocline_checkpoint_options options = HALOCLINE_CHECKPOINT_OPTIONS;
  options.text = "step 12";
  options.spacing[0] = 0.5;
  OK(halocline_write_checkpoint(grid, both, 2, "c_solver.vtkhdf", &options));
  const halocline_named_field second = {"v-2.b", read};
  const char* text = NULL;
  OK(halocline_read_checkpoint(grid, &second, 1, "c_solver.vtkhdf", &text));
  CHECK(text != NULL && strcmp(text, "step 12") == 0);
  uint64_t expected = 0, checksum = 1;
  OK(halocline_field_checksum(v, &expected));
  OK(halocline_field_checksum(read, &checksum));
  CHECK(checksum == expected);
  OK(halocline_write_checkpoint(grid, both, 1, "c_solver.vtkhdf", NULL));
  OK(halocline_read_checkpoint(grid, both, 1, "c_solver.vtkhdf", NULL));
  FAILS(halocline_read_checkpoint(grid, both, 2, "c_solver.vtkhdf", NULL), USAGE, "it has: u");
  FAILS(halocline_read_checkpoint(grid, both, 2, "c_solver.none", NULL), USAGE, "c_solver.none");
  FAILS(halocline_read_checkpoint(grid, &(halocline_named_field){"u", single}, 1, "c_solver.vtkhdf",
                                  NULL),
        USAGE, "double, field 'u' is float");
  FAILS(halocline_write_checkpoint(grid, both, 0, "c_solver.no", NULL), USAGE, "needs a field");
  FAILS(halocline_write_checkpoint(grid, both, -1, "c_solver.no", NULL), USAGE, "-1");
  FAILS(halocline_write_checkpoint(grid, both, 1, NULL, NULL), USAGE, "the path");
  FAILS(halocline_write_checkpoint(NULL, both, 1, "c_solver.no", NULL), USAGE, "grid");
  FAILS(
      halocline_write_checkpoint(grid, &(halocline_named_field){"a/b", u}, 1, "c_solver.no", NULL),
      USAGE, "'a/b'");
  options.spacing[1] = 0;
  FAILS(halocline_write_checkpoint(grid, both, 1, "c_solver.no", &options), USAGE, "spacing");
  options.struct_size = 1;
  FAILS(halocline_write_checkpoint(grid, both, 1, "c_solver.no", &options), USAGE, "struct_size");
  if (rank == 0) CHECK(remove("c_solver.vtkhdf") == 0);
  OK(halocline_field_destroy(&u));
  OK(halocline_field_destroy(&v));
  OK(halocline_field_destroy(&read));
  OK(halocline_field_destroy(&single));
  OK(halocline_grid_destroy(&grid));
}

static void mistakes_have_texts(void) {
  halocline_grid* grid = make_grid();
  halocline_solve_options options = quick();
  FAILS(halocline_solve(grid, &options, NULL), USAGE, "no problem");
  options.problem = "mine";
  options.text = "axes = 2\ncolour = 1\n";
  FAILS(halocline_solve(grid, &options, NULL), USAGE, "mine:2");
  options.text = NULL;
  options.problem = "laplacian";
  FAILS(halocline_solve(grid, &options, NULL), USAGE, "laplacian");
  options.problem = "laplace";
  FAILS(halocline_solve(NULL, &options, NULL), USAGE, "grid");
  FAILS(halocline_solve(grid, NULL, NULL), USAGE, "null pointer");
  static const char* const wrong[][3] = {
      {"norm", "l1", "l1"},        {"precision", "f16", "f16"},
      {"graph", "maybe", "maybe"}, {"memory", "disk", "disk"},
      {"swepes", "3", "'sweeps'"}, {"sweeps", "3.5", "option 'sweeps' '3.5'"}};
  for (size_t row = 0; row < sizeof wrong / sizeof *wrong; ++row) {
    set(&options, wrong[row][0], wrong[row][1]);
    FAILS(halocline_solve(grid, &options, NULL), USAGE, wrong[row][2]);
    set(&options, wrong[row][0], NULL);
  }
  set(&options, "sweeps", "3");
  given[options.option_count - 1].value = NULL;
  FAILS(halocline_solve(grid, &options, NULL), USAGE, "option 'sweeps' is a null pointer");
  set(&options, "sweeps", NULL);
  options.option_count = -1;
  FAILS(halocline_solve(grid, &options, NULL), USAGE, "list of options");
  options.option_count = 3;
  options.array_count = 1;
  FAILS(halocline_solve(grid, &options, NULL), USAGE, "list of arrays");
  halocline_solve_array array = {"u", NULL, NULL};
  options.arrays = &array;
  FAILS(halocline_solve(grid, &options, NULL), USAGE, "field does not exist");
  halocline_field_options doubles = HALOCLINE_FIELD_OPTIONS;
  doubles.element_bytes = sizeof(double);
  OK(halocline_field_create(grid, &doubles, &array.field));
  array.use = "neither";
  FAILS(halocline_solve(grid, &options, NULL), USAGE, "neither");
  array.use = "start";
  array.name = "b";
  FAILS(halocline_solve(grid, &options, NULL), USAGE, "'b'");
  options.array_count = -1;
  FAILS(halocline_solve(grid, &options, NULL), USAGE, "-1");
  options.array_count = 0;
  halocline_solve_result result = HALOCLINE_SOLVE_RESULT;
  result.struct_size = 3;
  FAILS(halocline_solve(grid, &options, &result), USAGE, "struct_size");
  options.struct_size = 0;
  FAILS(halocline_solve(grid, &options, NULL), USAGE, "struct_size");
  OK(halocline_field_destroy(&array.field));
  OK(halocline_grid_destroy(&grid));
}

int main(int argc, char** argv) {
  solves_are_described();  // needs no MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  arrays_are_start_and_result();
  texts_parameters_and_tolerances();
  reports_are_written();
  programs_see_progress_and_stop_runs();
  programs_of_an_earlier_version_solve();
  fields_lie_in_bricks();
  checkpoints_are_read_back();
  mistakes_have_texts();
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
