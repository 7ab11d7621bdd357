// SPDX-License-Identifier: Apache-2.0
// The C binding from a C program: halos by formula from the global index, the caller's memory as it
// is, measures and reports, and wrong arguments, which give errors and no crash.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/wait.h>

#include <halocline/halocline.h>

#include "checks.h"

static int world(void) { return MPI_Comm_c2f(MPI_COMM_WORLD); }

static const double poison = -7;

// ---- a field in memory of any kind, filled and checked by formula ----

typedef struct {
  halocline_grid_info grid;
  halocline_field_options options;
  int64_t strides[3], component_stride;  // resolved
  double* first;                         // held cells begin here
  double* memory;
  int64_t elements;
} array;

static int64_t owned_cells(const array* a, int axis) {
  return a->grid.owned.upper[axis] - a->grid.owned.lower[axis];
}

// A value that names its cell; coordinates along periodic axes are folded into the domain.
static double value_of(const halocline_grid_info* grid, const int* periodic, const int64_t* cell,
                       int64_t component) {
  double value = 0;
  for (int axis = 2; axis >= 0; --axis) {
    int64_t at = cell[axis];
    if (periodic[axis]) at = (at + grid->cells[axis]) % grid->cells[axis];
    value = value * 1000 + (double)at;
  }
  return value * 10 + (double)component;
}

// Doubles with a halo of 1, which tests compute positions with.
static halocline_field_options of_doubles(void) {
  halocline_field_options options = HALOCLINE_FIELD_OPTIONS;
  options.element_bytes = sizeof(double);
  options.halo = (halocline_widths){{1, 1, 1}, {1, 1, 1}};
  return options;
}

static int is_in(const halocline_box* box, const int64_t* cell) {
  for (int axis = 0; axis < 3; ++axis)
    if (cell[axis] < box->lower[axis] || cell[axis] >= box->upper[axis]) return 0;
  return 1;
}

static double* at(const array* a, const int64_t* cell, int64_t component) {
  int64_t offset = component * a->component_stride;
  for (int axis = 0; axis < a->grid.axes; ++axis)
    offset +=
        (cell[axis] - a->grid.owned.lower[axis] + a->options.halo.lower[axis]) * a->strides[axis];
  return a->first + offset;
}

typedef void visit(array* a, const int64_t* cell, int64_t component, double* value, void* data);

// Visits all held cells, owned and halo.
static void for_each_held(array* a, visit* work, void* data) {
  int64_t lower[3] = {0, 0, 0}, upper[3] = {1, 1, 1}, cell[3];
  for (int axis = 0; axis < a->grid.axes; ++axis) {
    lower[axis] = a->grid.owned.lower[axis] - a->options.halo.lower[axis];
    upper[axis] = a->grid.owned.upper[axis] + a->options.halo.upper[axis];
  }
  for (cell[2] = lower[2]; cell[2] < upper[2]; ++cell[2])
    for (cell[1] = lower[1]; cell[1] < upper[1]; ++cell[1])
      for (cell[0] = lower[0]; cell[0] < upper[0]; ++cell[0])
        for (int64_t c = 0; c < a->options.components; ++c) work(a, cell, c, at(a, cell, c), data);
}

typedef struct {
  const int* periodic;
  int faces_only;
  int64_t written;  // cells that have a value; -1 once one was wrong
} formula;

static void fill_one(array* a, const int64_t* cell, int64_t component, double* value, void* data) {
  const formula* by = data;
  if (is_in(&a->grid.owned, cell)) *value = value_of(&a->grid, by->periodic, cell, component);
}

// Whether an exchange fills this halo cell: it belongs to somebody and the kind of neighbour
// counts.
static int is_filled(const array* a, const formula* by, const int64_t* cell) {
  int axes_outside = 0;
  for (int axis = 0; axis < a->grid.axes; ++axis) {
    if (!by->periodic[axis] && (cell[axis] < 0 || cell[axis] >= a->grid.cells[axis])) return 0;
    if (cell[axis] < a->grid.owned.lower[axis] || cell[axis] >= a->grid.owned.upper[axis])
      ++axes_outside;
  }
  return axes_outside <= (by->faces_only ? 1 : 3);
}

static void check_one(array* a, const int64_t* cell, int64_t component, double* value, void* data) {
  formula* by = data;
  const double expected =
      is_filled(a, by, cell) ? value_of(&a->grid, by->periodic, cell, component) : poison;
  if (*value != expected && by->written >= 0) {
    fprintf(stderr, "rank %d: cell %lld %lld %lld component %lld is %g, not %g\n", rank,
            (long long)cell[0], (long long)cell[1], (long long)cell[2], (long long)component,
            *value, expected);
    ++failures;
    by->written = -1;  // the first is enough
  }
  if (by->written >= 0 && expected != poison) ++by->written;
}

static void poison_all(array* a) {
  for (int64_t i = 0; i < a->elements; ++i) a->memory[i] = poison;
}

// All that is neither owned nor filled must still be poison.
static void check_rest(const array* a, int64_t written) {
  int64_t touched = 0;
  for (int64_t i = 0; i < a->elements; ++i) touched += a->memory[i] != poison;
  CHECK(touched == written);
}

// Makes the caller's memory as the options tell, `lead` elements into an allocation.
static array make_array(halocline_grid* grid, halocline_field_options options, int64_t lead) {
  array a;
  memset(&a, 0, sizeof a);
  a.grid = (halocline_grid_info)HALOCLINE_GRID_INFO;
  OK(halocline_grid_get_info(grid, &a.grid));
  a.options = options;
  int64_t dense = options.component_stride == 0 ? options.components : 1, last = 0;
  for (int axis = 0; axis < a.grid.axes; ++axis) {
    const int64_t held =
        owned_cells(&a, axis) + options.halo.lower[axis] + options.halo.upper[axis];
    a.strides[axis] = options.strides[axis] != 0 ? options.strides[axis] : dense;
    dense *= options.extents[axis] != 0 ? options.extents[axis] : held;
    last += (held - 1) * a.strides[axis];
  }
  a.component_stride = options.component_stride != 0 ? options.component_stride : 1;
  last += (options.components - 1) * a.component_stride;
  a.elements = lead + last + 1 + lead;
  a.memory = malloc((size_t)a.elements * sizeof(double));
  a.first = a.memory + lead;
  poison_all(&a);
  return a;
}

static halocline_grid* make_grid(int64_t x, int64_t y, int64_t z, const int* periodic) {
  halocline_grid_options options = HALOCLINE_GRID_OPTIONS;
  options.cells[0] = x;
  options.cells[1] = y;
  options.cells[2] = z;
  memcpy(options.periodic, periodic, sizeof options.periodic);
  options.wait_limit = 60;
  halocline_grid* grid = NULL;
  OK(halocline_grid_create(world(), &options, &grid));
  return grid;
}

static void fill(array* a, const int* periodic) {
  formula by = {periodic, 0, 0};
  poison_all(a);
  for_each_held(a, fill_one, &by);
}

static void check(array* a, const int* periodic, int faces_only) {
  formula by = {periodic, faces_only, 0};
  for_each_held(a, check_one, &by);
  if (by.written >= 0) check_rest(a, by.written);
}

static halocline_field* wrap(halocline_grid* grid, array* a) {
  halocline_field* field = NULL;
  OK(halocline_field_wrap(grid, a->first, &a->options, &field));
  return field;
}

// ---- tests ----

static void fills_the_callers_arrays(void) {
  static const int all_periodic[3] = {1, 1, 1}, some[3] = {0, 1, 0}, none[3] = {0, 0, 0};
  for (int axes = 1; axes <= 3; ++axes)
    for (int kind = 0; kind < 4; ++kind) {
      const int* periodic = kind == 0 ? all_periodic : kind == 1 ? none : some;
      const int faces_only = kind == 3;
      halocline_grid* grid =
          make_grid(axes == 1 ? 67 : 17, axes > 1 ? 14 : 0, axes > 2 ? 11 : 0, periodic);

      // Wider on one side, with rows longer than needed.
      halocline_field_options options = of_doubles();
      options.name = "padded";
      options.halo = (halocline_widths){{2, 1, 1}, {1, 2, 1}};
      array plain = make_array(grid, options, 3);
      for (int axis = 0; axis < axes - 1; ++axis)
        options.extents[axis] = owned_cells(&plain, axis) + 7;
      free(plain.memory);
      array padded = make_array(grid, options, 5);

      // As C declares [x][y][z]: the last axis is the fastest. Two components, far apart.
      halocline_field_options turned = of_doubles();
      turned.name = "turned";
      turned.components = 2;
      int64_t stride = 1;
      for (int axis = axes - 1; axis >= 0; --axis) {
        turned.strides[axis] = stride;
        stride *= owned_cells(&padded, axis) + 2;
      }
      turned.component_stride = stride;
      array last_is_fastest = make_array(grid, turned, 2);

      halocline_field* fields[2] = {wrap(grid, &padded), wrap(grid, &last_is_fastest)};
      halocline_exchange_options how = HALOCLINE_EXCHANGE_OPTIONS;
      if (faces_only) how.neighbours = "faces";
      halocline_exchange* exchange = NULL;
      OK(halocline_exchange_create(grid, fields, 2, &how, &exchange));
      for (int time = 0; time < 3; ++time) {
        fill(&padded, periodic);
        fill(&last_is_fastest, periodic);
        int done = -1;
        OK(halocline_exchange_start(exchange, NULL));
        OK(halocline_exchange_progress(exchange, &done));
        CHECK(done == 0 || done == 1);
        OK(halocline_exchange_progress(exchange, NULL));
        OK(halocline_exchange_finish(exchange, NULL));
        check(&padded, periodic, faces_only);
        check(&last_is_fastest, periodic, faces_only);
      }
      OK(halocline_exchange_destroy(&exchange));
      for (int f = 0; f < 2; ++f) OK(halocline_field_destroy(&fields[f]));
      OK(halocline_grid_destroy(&grid));
      free(padded.memory);
      free(last_is_fastest.memory);
    }
}

// Deep halos, of which an exchange fills less when told so; two in flight, finished crosswise.
static void fills_deep_halos_in_flight_together(void) {
  static const int periodic[3] = {1, 1, 0};
  halocline_grid* grid = make_grid(24, 20, 0, periodic);
  halocline_field_options options = of_doubles();
  options.halo = (halocline_widths){{3, 3, 0}, {3, 3, 0}};
  array a = make_array(grid, options, 0), b = make_array(grid, options, 0);
  halocline_field *first = wrap(grid, &a), *second = wrap(grid, &b);
  halocline_exchange *of_first = NULL, *of_second = NULL;
  OK(halocline_exchange_create(grid, &first, 1, NULL, &of_first));
  const halocline_widths one = {{1, 1, 0}, {1, 1, 0}};
  halocline_exchange_options narrow = HALOCLINE_EXCHANGE_OPTIONS;
  narrow.widths = &one;
  OK(halocline_exchange_create(grid, &second, 1, &narrow, &of_second));
  fill(&a, periodic);
  fill(&b, periodic);
  OK(halocline_exchange_start(of_first, NULL));
  OK(halocline_exchange_start(of_second, NULL));
  // Handles end in any order: an exchange keeps what it needs.
  OK(halocline_grid_destroy(&grid));
  OK(halocline_field_destroy(&first));
  OK(halocline_exchange_finish(of_second, NULL));
  OK(halocline_exchange_finish(of_first, NULL));
  check(&a, periodic, 0);
  const int64_t near[3] = {b.grid.owned.lower[0] - 1, b.grid.owned.lower[1] - 1, 0};
  const int64_t far[3] = {b.grid.owned.lower[0] - 2, b.grid.owned.lower[1], 0};
  CHECK(*at(&b, near, 0) == value_of(&b.grid, periodic, near, 0));
  CHECK(*at(&b, far, 0) == poison);
  halocline_exchange_info info = HALOCLINE_EXCHANGE_INFO;
  OK(halocline_exchange_get_info(of_first, &info));
  CHECK(ranks == 1 ? info.messages == 0 && info.bytes == 0 : info.messages > 0 && info.bytes > 0);
  CHECK(strchr(info.transports, '=') != NULL && info.reasons != NULL);
  // Left in flight on purpose: destroying it waits.
  OK(halocline_exchange_start(of_first, NULL));
  OK(halocline_exchange_destroy(&of_first));
  OK(halocline_exchange_destroy(&of_second));
  OK(halocline_field_destroy(&second));
  free(a.memory);
  free(b.memory);
}

static void allocates_fields(void) {
  static const int periodic[3] = {1, 0, 1};
  halocline_grid* grid = make_grid(13, 9, 10, periodic);
  halocline_field_options options = of_doubles();
  halocline_field* field = NULL;
  OK(halocline_field_create(grid, &options, &field));
  halocline_field_info info = HALOCLINE_FIELD_INFO;
  OK(halocline_field_get_info(field, &info));
  array a = {.options = options, .component_stride = 1, .first = info.first};
  a.grid = (halocline_grid_info)HALOCLINE_GRID_INFO;
  OK(halocline_grid_get_info(grid, &a.grid));
  memcpy(a.strides, info.strides, sizeof a.strides);
  CHECK((double*)info.first_owned == at(&a, a.grid.owned.lower, 0));
  CHECK(info.held.lower[0] == a.grid.owned.lower[0] - 1);
  CHECK(*(double*)info.first_owned == 0);
  halocline_exchange* exchange = NULL;
  OK(halocline_exchange_create(grid, &field, 1, NULL, &exchange));
  formula by = {periodic, 0, 0};
  for_each_held(&a, fill_one, &by);
  OK(halocline_exchange_run(exchange, HALOCLINE_HOST_STREAM));
  const int64_t corner[3] = {a.grid.owned.lower[0] - 1, a.grid.owned.lower[1],
                             a.grid.owned.lower[2] - 1};
  CHECK(*at(&a, corner, 0) == value_of(&a.grid, periodic, corner, 0));
  /* The same plan for another array. */
  halocline_field* other = NULL;
  OK(halocline_field_create(grid, &options, &other));
  OK(halocline_field_get_info(other, &info));
  array b = a;
  b.first = info.first;
  for_each_held(&b, fill_one, &by);
  *at(&a, corner, 0) = -1;
  void* const arrays[] = {info.first, NULL};
  OK(halocline_exchange_start_at(exchange, arrays, 1, HALOCLINE_HOST_STREAM));
  OK(halocline_exchange_finish(exchange, HALOCLINE_HOST_STREAM));
  CHECK(*at(&b, corner, 0) == value_of(&a.grid, periodic, corner, 0));
  CHECK(*at(&a, corner, 0) == -1);
  *at(&b, corner, 0) = -1;
  OK(halocline_exchange_run_at(exchange, arrays, 1, HALOCLINE_HOST_STREAM));
  CHECK(*at(&b, corner, 0) == value_of(&a.grid, periodic, corner, 0));
  FAILS(halocline_exchange_run_at(exchange, arrays, 2, NULL), USAGE,
        "2 arrays for an exchange of 1");
  FAILS(halocline_exchange_run_at(exchange, arrays + 1, 1, NULL), USAGE, "null pointer");
  FAILS(halocline_exchange_start_at(exchange, NULL, 1, NULL), USAGE, "the list of arrays");
  OK(halocline_exchange_destroy(&exchange));
  OK(halocline_field_destroy(&other));
  OK(halocline_field_destroy(&field));
  OK(halocline_grid_destroy(&grid));
}

static void tells_interior_boundary_and_neighbours(void) {
  static const int periodic[3] = {1, 0, 0};
  halocline_grid* grid = make_grid(16, 12, 0, periodic);
  halocline_grid_info info = HALOCLINE_GRID_INFO;
  OK(halocline_grid_get_info(grid, &info));
  CHECK(info.rank == rank && info.ranks == ranks && info.axes == 2 && info.cells[2] == 1);
  CHECK(info.process_grid[0] * info.process_grid[1] == ranks);
  const halocline_widths two = {{2, 2, 0}, {2, 2, 0}};
  const halocline_widths* reaches[2] = {NULL, &two};
  for (int r = 0; r < 2; ++r) {
    halocline_box interior, boxes[HALOCLINE_BOUNDARY_BOXES];
    int count = -1;
    OK(halocline_grid_interior(grid, reaches[r], &interior));
    OK(halocline_grid_boundary(grid, reaches[r], boxes, &count));
    int64_t cell[3] = {0, 0, 0}, wrong = 0;
    for (cell[1] = 0; cell[1] < 12; ++cell[1])
      for (cell[0] = 0; cell[0] < 16; ++cell[0]) {
        int times = is_in(&interior, cell);
        for (int b = 0; b < count; ++b) times += is_in(&boxes[b], cell);
        wrong += times != is_in(&info.owned, cell);
      }
    CHECK(wrong == 0);
  }
  const int east[3] = {1, 0, 0}, west[3] = {-1, 0, 0}, south[3] = {0, -1, 0};
  int to_east = -2, to_west = -2, to_south = -2;
  OK(halocline_grid_neighbour(grid, east, &to_east));
  OK(halocline_grid_neighbour(grid, west, &to_west));
  OK(halocline_grid_neighbour(grid, south, &to_south));
  CHECK(to_east >= 0 && to_west >= 0);
  CHECK((info.place[1] == 0) == (to_south == -1));
  int back = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, to_east, 0, &back, 1, MPI_INT, to_west, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(back == to_west);
  OK(halocline_grid_destroy(&grid));
}

// Noise, checksum and sum are those of one rank, whatever the split and however memory lies.
static void measures_and_reports(void) {
  static const int periodic[3] = {0, 0, 0};
  uint64_t of_all[2] = {0, 1}, of_one = 2;
  double sums[2] = {0, 1}, norm = 0;
  halocline_grid* grid = make_grid(40, 30, 0, periodic);
  halocline_field_options options = of_doubles();
  array a = make_array(grid, options, 0);
  halocline_field* field = wrap(grid, &a);
  OK(halocline_field_noise(field, 12345));
  OK(halocline_field_checksum(field, &of_all[0]));
  OK(halocline_field_sum(field, &sums[0]));
  CHECK(*at(&a, a.grid.owned.lower, 0) >= 0 && *at(&a, a.grid.owned.lower, 0) < 1);
  CHECK(*a.first == poison);

  halocline_grid_options alone = HALOCLINE_GRID_OPTIONS;
  alone.cells[0] = 40;
  alone.cells[1] = 30;
  halocline_grid* own_grid = NULL;
  OK(halocline_grid_create(MPI_Comm_c2f(MPI_COMM_SELF), &alone, &own_grid));
  halocline_field_options turned = of_doubles();
  turned.strides[0] = 32;
  turned.strides[1] = 1;
  array whole = make_array(own_grid, turned, 0);
  halocline_field* own_field = wrap(own_grid, &whole);
  OK(halocline_field_noise(own_field, 12345));
  OK(halocline_field_checksum(own_field, &of_one));
  OK(halocline_field_sum(own_field, &sums[1]));
  CHECK(of_all[0] == of_one);
  CHECK(fabs(sums[0] - sums[1]) <= 1e-12 * sums[1]);
  OK(halocline_field_noise(own_field, 1));
  OK(halocline_field_checksum(own_field, &of_all[1]));
  CHECK(of_all[1] != of_one);

  OK(halocline_norm(grid, "max", rank == ranks - 1 ? 3.5 : -1, &norm));
  CHECK(norm == 3.5);
  OK(halocline_norm(grid, "l2", 4, &norm));
  CHECK(norm == sqrt(4.0 * ranks));

  halocline_exchange* exchange = NULL;
  OK(halocline_exchange_create(grid, &field, 1, NULL, &exchange));
  halocline_report_options report = HALOCLINE_REPORT_OPTIONS;
  report.problem = "noise";
  report.backend = "loops";
  report.sweeps = 10;
  report.norm = "max";
  report.norm_value = 3.5;
  report.tolerance = 4;
  report.loop_seconds = 0.5;
  report.text = "binding_report.txt";
  report.json = "binding_report.json";
  OK(halocline_report_write(field, exchange, &report));
  if (rank == 0) {
    char text[8192], checksum[32];
    snprintf(checksum, sizeof checksum, "%016llx", (unsigned long long)of_one);
    read_file(report.text, text, sizeof text);
    CHECK(strstr(text, "noise 2-D, 40x30 cells, f64") != NULL);
    CHECK(strstr(text, checksum) != NULL);
    CHECK(strstr(text, "10 sweeps, converged: max norm 3.5 <= 4") != NULL);
    read_file(report.json, text, sizeof text);
    CHECK(strstr(text, "\"problem\": \"noise\"") != NULL);
    CHECK(strstr(text, checksum) != NULL);
    CHECK(strstr(text, "\"backend\": \"loops\"") != NULL);
    remove(report.text);
    remove(report.json);
  }
  report.text = "/nowhere/report.txt";
  FAILS(halocline_report_write(field, exchange, &report), USAGE, "/nowhere/report.txt");
  report.text = NULL;
  report.norm = "l3";
  FAILS(halocline_report_write(field, exchange, &report), USAGE, "no norm 'l3'");

  OK(halocline_exchange_destroy(&exchange));
  OK(halocline_field_destroy(&field));
  OK(halocline_field_destroy(&own_field));
  OK(halocline_grid_destroy(&grid));
  OK(halocline_grid_destroy(&own_grid));
  free(a.memory);
  free(whole.memory);
}

// The header names no transport: the library says which there are, and takes them by name.
static void takes_every_transport_by_name(void) {
  static const int periodic[3] = {0, 1, 0};
  halocline_grid* grid = make_grid(16, 16, 0, periodic);
  halocline_field_options options = of_doubles();
  array a = make_array(grid, options, 0);
  halocline_field* field = wrap(grid, &a);
  halocline_exchange* exchange = NULL;
  halocline_exchange_options how = HALOCLINE_EXCHANGE_OPTIONS;
  how.transport = "pigeon";
  FAILS(halocline_exchange_create(grid, &field, 1, &how, &exchange), USAGE, "pigeon");
  char names[2048];
  strncpy(names, halocline_last_error(), sizeof names - 1);
  names[sizeof names - 1] = '\0';
  char* list = strstr(names, "there are: ");
  CHECK(list != NULL);
  int taken = 0;
  for (char* name = strtok(list != NULL ? list + 11 : names, ", "); name != NULL;
       name = strtok(NULL, ", ")) {
    how.transport = name;
    const halocline_status status = halocline_exchange_create(grid, &field, 1, &how, &exchange);
    CHECK(status == HALOCLINE_OK || status == HALOCLINE_UNAVAILABLE);
    if (status == HALOCLINE_OK) {
      fill(&a, periodic);
      OK(halocline_exchange_run(exchange, NULL));
      check(&a, periodic, 0);
      ++taken;
    }
    OK(halocline_exchange_destroy(&exchange));
  }
  CHECK(taken >= 1);
  OK(halocline_field_destroy(&field));
  OK(halocline_grid_destroy(&grid));
  free(a.memory);
}

static void refuses_wrong_grids(void) {
  halocline_grid* grid = NULL;
  halocline_grid_options options = HALOCLINE_GRID_OPTIONS;
  options.cells[0] = 64;
  FAILS(halocline_grid_create(world(), NULL, &grid), USAGE, "halocline_grid_options is a null");
  FAILS(halocline_grid_create(world(), &options, NULL), USAGE, "null pointer");
  FAILS(halocline_grid_create(MPI_Comm_c2f(MPI_COMM_NULL), &options, &grid), USAGE,
        "communicator is null");
  options.struct_size = 0;
  FAILS(halocline_grid_create(world(), &options, &grid), USAGE, "initialise it with the macro");
  options.struct_size = sizeof options + 8;
  FAILS(halocline_grid_create(world(), &options, &grid), USAGE, "compiled for a later Halocline");
  options.struct_size = sizeof options;
  options.cells[2] = 8;
  FAILS(halocline_grid_create(world(), &options, &grid), USAGE, "0 before its last axis");
  options.cells[2] = 0;
  options.cells[0] = -3;
  FAILS(halocline_grid_create(world(), &options, &grid), USAGE, "-3");
  options.cells[0] = 64;
  options.process_grid[0] = ranks + 1;
  FAILS(halocline_grid_create(world(), &options, &grid), USAGE, "process grid");
  CHECK(grid == NULL);

  FAILS(halocline_grid_destroy(NULL), USAGE, "null pointer");
  OK(halocline_grid_destroy(&grid));  // null already
  halocline_grid_info info = HALOCLINE_GRID_INFO;
  FAILS(halocline_grid_get_info(NULL, &info), USAGE, "the grid does not exist");
  options.process_grid[0] = 0;
  OK(halocline_grid_create(world(), &options, &grid));
  info.struct_size = 4;
  FAILS(halocline_grid_get_info(grid, &info), USAGE, "struct_size");
  FAILS(halocline_grid_get_info(grid, NULL), USAGE, "null pointer");
  const int too_far[3] = {2, 0, 0};
  int other;
  FAILS(halocline_grid_neighbour(grid, too_far, &other), USAGE, "not 2");
  FAILS(halocline_grid_neighbour(grid, NULL, &other), USAGE, "null pointer");
  FAILS(halocline_grid_interior(grid, NULL, NULL), USAGE, "null pointer");
  FAILS(halocline_grid_boundary(grid, NULL, NULL, &other), USAGE, "null pointer");
  halocline_grid* copy = grid;
  OK(halocline_grid_destroy(&grid));
  CHECK(grid == NULL && copy != NULL);
  OK(halocline_grid_destroy(&grid));  // twice is once
}

// The automatic choice leaves room for halos that differ between axes and sides; a program compiled
// with the first version of the options has no such member.
static void splits_for_the_expected_halo(void) {
  static const halocline_widths halo = {{0, 0, 0}, {0, 0, 9}};
  halocline_grid_options options = HALOCLINE_GRID_OPTIONS;
  options.cells[0] = options.cells[1] = 16;
  options.cells[2] = 18;
  options.expected_halo = 1;
  halocline_grid* grid = NULL;
  halocline_grid_info info = HALOCLINE_GRID_INFO;
  OK(halocline_grid_create(world(), &options, &grid));
  OK(halocline_grid_get_info(grid, &info));
  CHECK(info.process_grid[2] == ranks);
  halocline_field_options wide = of_doubles();
  wide.halo = halo;
  halocline_field* field = NULL;
  halocline_exchange* exchange = NULL;
  OK(halocline_field_create(grid, &wide, &field));
  if (ranks > 2)
    FAILS(halocline_exchange_create(grid, &field, 1, NULL, &exchange), USAGE, "'expected_halo'");
  OK(halocline_field_destroy(&field));
  OK(halocline_grid_destroy(&grid));

  options.expected_widths = &halo;
  OK(halocline_grid_create(world(), &options, &grid));
  OK(halocline_field_create(grid, &wide, &field));
  OK(halocline_exchange_create(grid, &field, 1, NULL, &exchange));
  OK(halocline_exchange_destroy(&exchange));
  OK(halocline_field_destroy(&field));
  OK(halocline_grid_destroy(&grid));

  const size_t first_size = 88;
  options.expected_widths = NULL;
  halocline_grid_options* old = malloc(first_size);  // not a byte more
  memcpy(old, &options, first_size);
  old->struct_size = first_size;
  OK(halocline_grid_create(world(), old, &grid));
  OK(halocline_grid_get_info(grid, &info));
  CHECK(info.process_grid[2] == ranks);
  OK(halocline_grid_destroy(&grid));
  free(old);
}

// Fields and reaches have the halo that the grid expects, side by side where only some are given;
// an array with more cells is not taken for one with padding.
static void takes_the_halo_that_the_grid_expects(void) {
  static const halocline_widths expected = {{2, 0, 0}, {2, 3, 0}};
  halocline_grid_options options = HALOCLINE_GRID_OPTIONS;
  options.cells[0] = 32;
  options.cells[1] = 24;
  options.periodic[0] = options.periodic[1] = 1;
  options.expected_widths = &expected;
  halocline_grid* grid = NULL;
  OK(halocline_grid_create(world(), &options, &grid));
  halocline_box told, by_default;
  OK(halocline_grid_interior(grid, &expected, &told));
  OK(halocline_grid_interior(grid, NULL, &by_default));
  CHECK(memcmp(&told, &by_default, sizeof told) == 0);

  halocline_field_options field_options = HALOCLINE_FIELD_OPTIONS;
  field_options.element_bytes = sizeof(double);
  halocline_grid_info info = HALOCLINE_GRID_INFO;
  OK(halocline_grid_get_info(grid, &info));
  const int64_t nx = info.owned.upper[0] - info.owned.lower[0],
                ny = info.owned.upper[1] - info.owned.lower[1];
  double* cells = calloc((size_t)((nx + 9) * (ny + 9)), sizeof *cells);
  field_options.extents[0] = nx + 4;
  halocline_field* field = NULL;
  halocline_field_info at = HALOCLINE_FIELD_INFO;
  OK(halocline_field_wrap(grid, cells, &field_options, &field));
  OK(halocline_field_get_info(field, &at));
  CHECK(at.first_owned == cells + 2 && at.held.upper[1] == info.owned.upper[1] + 3);
  OK(halocline_field_destroy(&field));

  field_options.extents[0] = nx + 6;
  FAILS(halocline_field_wrap(grid, cells, &field_options, &field), USAGE,
        "expected halo of 2 and 2");
  field_options.halo.lower[0] = 3;
  OK(halocline_field_wrap(grid, cells, &field_options, &field));
  OK(halocline_field_get_info(field, &at));
  CHECK(at.first_owned == cells + 3 && at.held.upper[0] == info.owned.upper[0] + 2);
  OK(halocline_field_destroy(&field));
  OK(halocline_grid_destroy(&grid));
  free(cells);
  options.expected_widths = NULL;
  options.expected_halo = -1;
  FAILS(halocline_grid_create(world(), &options, &grid), USAGE, "'expected_halo' is -1 along x");
}

// The right options but for one member.
#define WITH(member, value) (options = right, options.member = (value), &options)

static void refuses_wrong_fields(void) {
  static const int periodic[3] = {0, 0, 0};
  halocline_grid* grid = make_grid(32, 16, 0, periodic);
  halocline_field* field = NULL;
  const halocline_field_options right = of_doubles();
  array a = make_array(grid, right, 0);
  halocline_field_options options = right;
  FAILS(halocline_field_wrap(NULL, a.first, &right, &field), USAGE, "create it first");
  FAILS(halocline_field_wrap(grid, NULL, &right, &field), USAGE, "the array is a null pointer");
  FAILS(halocline_field_wrap(grid, a.first, NULL, &field), USAGE, "null pointer");
  FAILS(halocline_field_wrap(grid, a.first, &right, NULL), USAGE, "null pointer");
  FAILS(halocline_field_wrap(grid, a.first, WITH(struct_size, 12), &field), USAGE, "struct_size");
  FAILS(halocline_field_create(grid, WITH(memory, "attic"), &field), USAGE, "no memory 'attic'");
  FAILS(halocline_field_create(grid, WITH(memory, NULL), &field), USAGE, "null pointer");
  FAILS(halocline_field_create(grid, WITH(name, NULL), &field), USAGE, "name of the field");
  const int64_t not_set = ((halocline_field_options)HALOCLINE_FIELD_OPTIONS).element_bytes;
  FAILS(halocline_field_create(grid, WITH(element_bytes, not_set), &field), USAGE,
        "is not set: set it to the bytes");
  FAILS(halocline_field_wrap(grid, a.first, &options, &field), USAGE, "element_bytes of field");
  FAILS(halocline_field_create(grid, WITH(element_bytes, -8), &field), USAGE, "-8 bytes");
  FAILS(halocline_field_wrap(grid, a.first, WITH(components, -1), &field), USAGE, "-1 components");
  FAILS(halocline_field_wrap(grid, a.first, WITH(halo.lower[1], -2), &field), USAGE,
        "negative halo");
  FAILS(halocline_field_wrap(grid, a.first, WITH(strides[1], -4), &field), USAGE, "stride -4");
  options.strides[0] = 1;
  options.strides[1] = 4;
  FAILS(halocline_field_wrap(grid, a.first, &options, &field), USAGE, "1, 4 along x, y");
  const int64_t too_many = owned_cells(&a, 0) + 1;
  FAILS(halocline_field_wrap(grid, a.first, WITH(extents[0], too_many), &field), USAGE,
        "cells along x");
  CHECK(field == NULL);

  options = right;
  options.element_bytes = 2;
  OK(halocline_field_create(grid, &options, &field));
  uint64_t checksum;
  FAILS(halocline_field_checksum(field, &checksum), USAGE, "1 components of 2 bytes");
  FAILS(halocline_field_noise(field, 1), USAGE, "2 bytes");
  FAILS(halocline_field_checksum(NULL, &checksum), USAGE, "the field does not exist");
  FAILS(halocline_field_sum(field, NULL), USAGE, "null pointer");
  FAILS(halocline_field_get_info(field, NULL), USAGE, "null pointer");
  double norm;
  FAILS(halocline_norm(grid, "l3", 1, &norm), USAGE, "no norm 'l3'");
  FAILS(halocline_norm(grid, NULL, 1, &norm), USAGE, "null pointer");
  OK(halocline_field_destroy(&field));
  OK(halocline_field_destroy(&field));
  FAILS(halocline_field_destroy(NULL), USAGE, "null pointer");
  OK(halocline_grid_destroy(&grid));
  free(a.memory);
}

static void refuses_wrong_exchanges(void) {
  static const int periodic[3] = {1, 0, 0};
  halocline_grid *grid = make_grid(32, 16, 0, periodic), *other = make_grid(64, 16, 0, periodic);
  array a = make_array(grid, of_doubles(), 0);
  halocline_field *field = wrap(grid, &a), *none = NULL;
  halocline_exchange* exchange = NULL;
  halocline_exchange_options how = HALOCLINE_EXCHANGE_OPTIONS;
  FAILS(halocline_exchange_create(NULL, &field, 1, NULL, &exchange), USAGE, "the grid");
  FAILS(halocline_exchange_create(grid, NULL, 1, NULL, &exchange), USAGE, "list of fields");
  FAILS(halocline_exchange_create(grid, &none, 1, NULL, &exchange), USAGE, "the field does not");
  FAILS(halocline_exchange_create(grid, &field, 0, NULL, &exchange), USAGE, "0 fields");
  FAILS(halocline_exchange_create(grid, &field, 1, NULL, NULL), USAGE, "null pointer");
  FAILS(halocline_exchange_create(other, &field, 1, NULL, &exchange), USAGE, "another grid");
  halocline_field* twice[2] = {field, field};
  FAILS(halocline_exchange_create(grid, twice, 2, NULL, &exchange), USAGE, "each field once");
  how.neighbours = "friends";
  FAILS(halocline_exchange_create(grid, &field, 1, &how, &exchange), USAGE, "friends");
  how = (halocline_exchange_options)HALOCLINE_EXCHANGE_OPTIONS;
  how.struct_size = 1;
  FAILS(halocline_exchange_create(grid, &field, 1, &how, &exchange), USAGE, "struct_size");
  how = (halocline_exchange_options)HALOCLINE_EXCHANGE_OPTIONS;
  const halocline_widths wide = {{2, 2, 0}, {2, 2, 0}};
  how.widths = &wide;
  FAILS(halocline_exchange_create(grid, &field, 1, &how, &exchange), USAGE, "exceeds the halo");
  how.widths = NULL;
  how.same_order = rank == 0;
  if (ranks > 1)
    FAILS(halocline_exchange_create(grid, &field, 1, &how, &exchange), USAGE, "in any order");
  how.same_order = 1;
  OK(halocline_exchange_create(grid, &field, 1, &how, &exchange));
  OK(halocline_exchange_destroy(&exchange));
  const size_t first_size = 40;
  halocline_exchange_options* old = malloc(first_size);  // not a byte more
  memcpy(old, &how, first_size);
  old->struct_size = first_size;
  OK(halocline_exchange_create(grid, &field, 1, old, &exchange));
  OK(halocline_exchange_destroy(&exchange));
  free(old);
  how.transport = NULL;
  FAILS(halocline_exchange_create(grid, &field, 1, &how, &exchange), USAGE, "null pointer");
  CHECK(exchange == NULL);

  FAILS(halocline_exchange_start(NULL, NULL), USAGE, "the exchange does not exist");
  OK(halocline_exchange_create(grid, &field, 1, NULL, &exchange));
  FAILS(halocline_exchange_finish(exchange, NULL), USAGE, "call start() first");
  OK(halocline_exchange_start(exchange, NULL));
  FAILS(halocline_exchange_start(exchange, NULL), USAGE, "call finish() first");
  OK(halocline_exchange_finish(exchange, NULL));
  FAILS(halocline_exchange_finish(exchange, NULL), USAGE, "call start() first");
  FAILS(halocline_exchange_get_info(exchange, NULL), USAGE, "null pointer");
  FAILS(halocline_report_write(field, exchange, NULL), USAGE, "null pointer");
  FAILS(halocline_report_write(NULL, exchange, NULL), USAGE, "the field does not exist");
  OK(halocline_exchange_destroy(&exchange));
  OK(halocline_exchange_destroy(&exchange));
  FAILS(halocline_exchange_destroy(NULL), USAGE, "null pointer");
  OK(halocline_field_destroy(&field));
  OK(halocline_grid_destroy(&grid));
  OK(halocline_grid_destroy(&other));
  free(a.memory);
}

static void parks_what_finalisers_give_up(void) {
  static const int periodic[3] = {1, 1, 0};
  halocline_grid* grid = make_grid(16, 12, 0, periodic);
  halocline_field_options options = of_doubles();
  halocline_exchange* exchanges[2] = {NULL, NULL};
  for (int i = 0; i < 2; ++i) {
    halocline_field* field = NULL;
    OK(halocline_field_create(grid, &options, &field));
    OK(halocline_exchange_create(grid, &field, 1, NULL, &exchanges[i]));
    OK(halocline_field_destroy(&field));
  }
  OK(halocline_exchange_start(exchanges[0], NULL));
  for (int i = 0; i < 2; ++i) OK(halocline_exchange_park(&exchanges[(i + rank) % 2]));
  CHECK(exchanges[0] == NULL && exchanges[1] == NULL);
  OK(halocline_exchange_park(&exchanges[0]));
  FAILS(halocline_exchange_park(NULL), USAGE, "null pointer");
  OK(halocline_grid_destroy(&grid));
  // Another grid of the same communicator: its exchanges free those.
  grid = make_grid(16, 12, 0, periodic);
  halocline_field* field = NULL;
  OK(halocline_field_create(grid, &options, &field));
  OK(halocline_exchange_create(grid, &field, 1, NULL, &exchanges[0]));
  OK(halocline_exchange_run(exchanges[0], NULL));
  OK(halocline_exchange_destroy(&exchanges[0]));
  OK(halocline_field_destroy(&field));
  OK(halocline_grid_destroy(&grid));
}

typedef struct {
  halocline_grid* grid;
  halocline_exchange* exchange;
  halocline_status answer;
} question;

static void* ask(void* argument) {
  question* asked = argument;
  halocline_grid_info info = HALOCLINE_GRID_INFO;
  halocline_exchange_info plan = HALOCLINE_EXCHANGE_INFO;
  // Seldom, or the other thread would be the second one.
  const struct timespec pause = {0, 200000000};
  for (int turn = 0; turn < 8 && asked->answer != HALOCLINE_USAGE; ++turn) {
    nanosleep(&pause, NULL);
    asked->answer = halocline_exchange_progress(asked->exchange, NULL);
  }
  // These are for any thread.
  OK(halocline_grid_get_info(asked->grid, &info));
  OK(halocline_exchange_get_info(asked->exchange, &plan));
  OK(halocline_grid_destroy(&asked->grid));
  return NULL;
}

// Rank 0 waits inside a call for rank 1, which is late.
static void refuses_a_second_thread_and_forks(void) {
  static const int periodic[3] = {1, 1, 0};
  question asked = {make_grid(16, 12, 0, periodic), NULL, HALOCLINE_OK};
  halocline_field_options options = of_doubles();
  halocline_field* field = NULL;
  halocline_exchange* exchange = NULL;
  OK(halocline_field_create(asked.grid, &options, &field));
  OK(halocline_exchange_create(asked.grid, &field, 1, NULL, &exchange));
  asked.exchange = exchange;
  if (ranks > 1) {
    pthread_t other;
    if (rank == 1) sleep(2);
    OK(halocline_exchange_start(exchange, NULL));
    if (rank == 0) CHECK(pthread_create(&other, NULL, ask, &asked) == 0);
    OK(halocline_exchange_finish(exchange, NULL));
    if (rank == 0) CHECK(pthread_join(other, NULL) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK(asked.answer == (rank == 0 && ranks > 1 ? HALOCLINE_USAGE : HALOCLINE_OK));
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int refused = halocline_exchange_run(exchange, NULL) == HALOCLINE_USAGE &&
                        strstr(halocline_last_error(), "was forked from one") != NULL;
    _exit(refused ? 0 : 1);
  }
  int end = 1;
  CHECK(waitpid(child, &end, 0) == child && end == 0);
  OK(halocline_exchange_destroy(&exchange));
  OK(halocline_field_destroy(&field));
  OK(halocline_grid_destroy(&asked.grid));
}

static void names_statuses(void) {
  CHECK(strcmp(halocline_status_name(HALOCLINE_OK), "ok") == 0);
  CHECK(strcmp(halocline_status_name(HALOCLINE_COMMUNICATION), "communication") == 0);
  CHECK(strcmp(halocline_status_name((halocline_status)77), "unknown") == 0);
  CHECK(strchr(halocline_version(), '.') != NULL);
}

int main(int argc, char** argv) {
  CHECK(halocline_last_error()[0] == '\0');
  halocline_grid* early = NULL;
  halocline_grid_options options = HALOCLINE_GRID_OPTIONS;
  options.cells[0] = 8;
  FAILS(halocline_grid_create(0, &options, &early), USAGE, "MPI is not initialised");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  names_statuses();
  fills_the_callers_arrays();
  fills_deep_halos_in_flight_together();
  allocates_fields();
  tells_interior_boundary_and_neighbours();
  measures_and_reports();
  takes_every_transport_by_name();
  refuses_wrong_grids();
  splits_for_the_expected_halo();
  takes_the_halo_that_the_grid_expects();
  refuses_wrong_fields();
  refuses_wrong_exchanges();
  parks_what_finalisers_give_up();
  refuses_a_second_thread_and_forks();
  static const int periodic[3] = {1, 1, 0};
  halocline_grid* late_grid = make_grid(16, 12, 0, periodic);
  halocline_field_options late_options = of_doubles();
  halocline_field* late_field = NULL;
  halocline_exchange* late_exchange = NULL;
  OK(halocline_field_create(late_grid, &late_options, &late_field));
  OK(halocline_exchange_create(late_grid, &late_field, 1, NULL, &late_exchange));
  OK(halocline_exchange_run(late_exchange, NULL));
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  FAILS(halocline_grid_create(0, &options, &early), USAGE, "MPI is finalised");
  FAILS(halocline_exchange_run(late_exchange, NULL), USAGE, "MPI is finalised");
  double sum;
  FAILS(halocline_field_sum(late_field, &sum), USAGE, "MPI is finalised");
  OK(halocline_exchange_destroy(&late_exchange));
  OK(halocline_field_destroy(&late_field));
  OK(halocline_grid_destroy(&late_grid));
  if (rank == 0 && all + failures == 0) printf("the C binding works on %d ranks\n", ranks);
  return all + failures == 0 ? 0 : 1;
}
