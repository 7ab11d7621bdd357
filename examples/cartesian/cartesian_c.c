// SPDX-License-Identifier: Apache-2.0
// The solver of cartesian_cpp.cpp in C: here MPI_Cart has z first, and arrays grow in the middle of
// the run, as those of codes do whose cells change.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <halocline/halocline.h>
#define TRY(call) \
  if ((call) != HALOCLINE_OK) puts(halocline_last_error()), MPI_Abort(MPI_COMM_WORLD, 4)

enum { H = 2, SWEEPS = 6 };              // layers of halo
static const int all[3] = {18, 22, 30};  // cells: z, y, x
static MPI_Comm cart;
static int dims[3], place[3], n[3], first[3];  // z, y, x

// An array: rows of `pitch` values, of which n[2] + more are owned, and the halo.
typedef struct {
  double* values;
  int more;  // 1: faces across x, one more than cells
  long pitch, plane;
} array;

static array make(int more, int padding) {
  array a = {NULL, more, n[2] + more + 2 * H + padding, 0};
  a.plane = a.pitch * (n[1] + 2 * H);
  a.values = malloc((size_t)(a.plane * (n[0] + 2 * H)) * sizeof(double));
  if (!a.values) MPI_Abort(MPI_COMM_WORLD, 4);
  return a;
}
static double* at(array a, int z, int y, int x) {
  return a.values + (z + H) * a.plane + (y + H) * a.pitch + x + H;
}

// Owned values, and the halo beyond edges of the domain that are not periodic.
static void begin(array a) {
  for (int z = -H; z < n[0] + H; ++z)
    for (int y = -H; y < n[1] + H; ++y)
      for (int x = -H; x < n[2] + a.more + H; ++x) {
        const int gz = (z + first[0] + all[0]) % all[0], gy = y + first[1], gx = x + first[2];
        *at(a, z, y, x) = 0.01 * ((gx * 37 + gy * 17 + gz * 29 + 1000) % 101);
      }
}

static void faces_of(array u, array flux) {
  for (int z = 0; z < n[0]; ++z)
    for (int y = 0; y < n[1]; ++y)
      for (int x = 0; x <= n[2]; ++x) *at(flux, z, y, x) = *at(u, z, y, x) - *at(u, z, y, x - 1);
}
static void sweep(array u, array flux, array v) {
  for (int z = 0; z < n[0]; ++z)
    for (int y = 0; y < n[1]; ++y)
      for (int x = 0; x < n[2]; ++x)
        *at(v, z, y, x) = *at(u, z, y, x) +
                          0.05 * (*at(flux, z, y, x + 2) - *at(flux, z, y, x - 1)) +
                          0.02 * (*at(u, z, y - 2, x) + *at(u, z, y + 2, x) + *at(u, z - 2, y, x) +
                                  *at(u, z + 2, y, x) - 4 * *at(u, z, y, x));
}

// The values of `old` in an array with other padding, as after a reallocation.
static array reallocated(array old, int padding) {
  array a = make(old.more, padding);
  for (int z = -H; z < n[0] + H; ++z)
    for (int y = -H; y < n[1] + H; ++y)
      memcpy(at(a, z, y, -H), at(old, z, y, -H),
             (size_t)(n[2] + old.more + 2 * H) * sizeof(double));
  free(old.values);
  return a;
}

// The halo by hand, axis after axis, so that edges and corners come along.
static void exchange_by_hand(array a) {
  const long step[3] = {a.plane, a.pitch, 1};
  for (int axis = 0; axis < 3; ++axis) {
    int size[3] = {n[0] + 2 * H, n[1] + 2 * H, (int)a.pitch}, start[3] = {0, 0, 0};
    int layers[3] = {n[0] + 2 * H, n[1] + 2 * H, n[2] + a.more + 2 * H}, lower, upper;
    const int more = axis == 2 ? a.more : 0;
    MPI_Datatype slab;
    layers[axis] = H;
    MPI_Type_create_subarray(3, size, layers, start, MPI_ORDER_C, MPI_DOUBLE, &slab);
    MPI_Type_commit(&slab);
    MPI_Cart_shift(cart, axis, 1, &lower, &upper);
    MPI_Sendrecv(a.values + (H + more) * step[axis], 1, slab, lower, 0,
                 a.values + (n[axis] + more + H) * step[axis], 1, slab, upper, 0, cart,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(a.values + n[axis] * step[axis], 1, slab, upper, 1, a.values, 1, slab, lower, 1,
                 cart, MPI_STATUS_IGNORE);
    MPI_Type_free(&slab);
  }
}

static array solve_by_hand(void) {
  array u = make(0, 6), v = make(0, 6), flux = make(1, 5);
  begin(u), begin(v), begin(flux);
  for (int s = 0; s < SWEEPS; ++s) {
    if (s == SWEEPS / 2) u = reallocated(u, 9), v = reallocated(v, 9);
    exchange_by_hand(u);
    faces_of(u, flux);
    exchange_by_hand(flux);
    sweep(u, flux, v);
    const array old = u;
    u = v, v = old;
  }
  free(v.values), free(flux.values);
  return u;
}

static halocline_field* wrap(const halocline_grid* grid, array a, const char* name) {
  halocline_field_options options = HALOCLINE_FIELD_OPTIONS;
  options.name = name;
  options.element_bytes = sizeof(double);
  // Along x, y, z, on the lower and the upper side; the last face is the first of a neighbour.
  options.halo = (halocline_widths){{H, H, H}, {H + a.more, H, H}};
  options.extents[0] = a.pitch;  // rows are longer than owned cells and halo
  halocline_field* field;
  TRY(halocline_field_wrap(grid, a.values, &options, &field));
  return field;
}

static halocline_exchange* halo_of(const halocline_grid* grid, array a, const char* name) {
  halocline_field* field = wrap(grid, a, name);
  halocline_exchange* halo;
  TRY(halocline_exchange_create(grid, &field, 1, NULL, &halo));
  TRY(halocline_field_destroy(&field));  // the exchange keeps what it needs
  return halo;
}

static array solve_with_halocline(void) {
  array u = make(0, 6), v = make(0, 6), flux = make(1, 5);
  begin(u), begin(v), begin(flux);

  halocline_grid_options options = HALOCLINE_GRID_OPTIONS;
  for (int axis = 0; axis < 3; ++axis) {  // x first
    options.cells[axis] = all[2 - axis];
    options.process_grid[axis] = dims[2 - axis];
  }
  options.periodic[2] = 1;
  options.expected_halo = H;
  halocline_grid* grid;
  // With z first in dims, ranks of MPI_Cart count fastest along x, as those of Halocline.
  TRY(halocline_grid_create(MPI_Comm_c2f(cart), &options, &grid));
  halocline_exchange* halo = halo_of(grid, u, "u");
  halocline_exchange* halo_of_flux = halo_of(grid, flux, "flux");

  for (int s = 0; s < SWEEPS; ++s) {
    if (s == SWEEPS / 2) {
      u = reallocated(u, 9), v = reallocated(v, 9);
      TRY(halocline_exchange_destroy(&halo));
      halo = halo_of(grid, u, "u");
    }
    void* const arrays[] = {u.values};
    TRY(halocline_exchange_run_at(halo, arrays, 1, HALOCLINE_HOST_STREAM));
    faces_of(u, flux);
    TRY(halocline_exchange_run(halo_of_flux, HALOCLINE_HOST_STREAM));
    sweep(u, flux, v);
    const array old = u;
    u = v, v = old;
  }
  TRY(halocline_exchange_destroy(&halo));
  TRY(halocline_exchange_destroy(&halo_of_flux));
  TRY(halocline_grid_destroy(&grid));
  free(v.values), free(flux.values);
  return u;
}

int main(void) {
  const int periodic[3] = {1, 0, 0};
  int ranks, rank, wrong = 0, all_wrong = 0;
  alarm(60);  // nothing here runs for longer
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 3, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periodic, 1, &cart);
  MPI_Comm_rank(cart, &rank);
  MPI_Cart_coords(cart, rank, 3, place);
  for (int axis = 0; axis < 3; ++axis) {  // as Halocline, the first parts get one cell more
    const int few = all[axis] / dims[axis], more = all[axis] % dims[axis];
    n[axis] = few + (place[axis] < more);
    first[axis] = place[axis] * few + (place[axis] < more ? place[axis] : more);
  }
  const array by_hand = solve_by_hand(), with_halocline = solve_with_halocline();
  for (int z = 0; z < n[0]; ++z)
    for (int y = 0; y < n[1]; ++y)
      for (int x = 0; x < n[2]; ++x) wrong += *at(by_hand, z, y, x) != *at(with_halocline, z, y, x);
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, cart);
  if (rank == 0)
    printf("process grid %dx%dx%d, cells that differ: %d\n", dims[2], dims[1], dims[0], all_wrong);
  free(by_hand.values), free(with_halocline.values);
  MPI_Finalize();
  return all_wrong == 0 ? 0 : 1;
}
