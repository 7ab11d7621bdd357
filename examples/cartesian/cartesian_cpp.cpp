// SPDX-License-Identifier: Apache-2.0
// A 3-D halo on MPI_Cart, by hand and by Halocline: padded rows, two halo layers, swapped arrays,
// and values on faces in arrays of nx+1. Both compute the same bits.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include <halocline/halocline.hpp>
#include <halocline/mpi.hpp>

namespace {
constexpr int H = 2, sweeps = 5;               // layers of halo
constexpr std::array<int, 3> all{30, 22, 18};  // cells: x, y, z

/// An array of this rank: `n` cells or faces and the halo, x fastest; rows end with padding.
struct Array {
  std::array<int, 3> n;
  std::array<std::int64_t, 3> stride{};
  std::vector<double> values;

  explicit Array(const std::array<int, 3>& numbers) : n(numbers) {
    const std::int64_t pitch = (n[0] + 2 * H + 7) / 8 * 8 + 8;
    stride = {1, pitch, pitch * (n[1] + 2 * H)};
    values.assign(static_cast<std::size_t>(stride[2] * (n[2] + 2 * H)), -1);
  }
  /// The value at an index that counts from the first owned cell.
  double& operator()(int x, int y, int z) {
    const std::int64_t at = x + H + (y + H) * stride[1] + (z + H) * stride[2];
    return values[static_cast<std::size_t>(at)];
  }
};

/// The part of this rank: as Halocline, the first parts get one cell more.
struct Part {
  MPI_Comm cart = MPI_COMM_NULL;
  std::array<int, 3> dims{}, place{}, n{}, first{};
};

Part make_part() {
  Part part;
  int ranks, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 3, part.dims.data());
  const std::array<int, 3> periodic{0, 0, 1};
  MPI_Cart_create(MPI_COMM_WORLD, 3, part.dims.data(), periodic.data(), 0, &part.cart);
  MPI_Comm_rank(part.cart, &rank);
  MPI_Cart_coords(part.cart, rank, 3, part.place.data());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int few = all[axis] / part.dims[axis], more = all[axis] % part.dims[axis];
    part.n[axis] = few + (part.place[axis] < more ? 1 : 0);
    part.first[axis] = part.place[axis] * few + std::min(part.place[axis], more);
  }
  return part;
}

/// Owned values, and the halo beyond edges of the domain that are not periodic.
void begin(const Part& part, Array& array) {
  for (int z = 0; z < array.n[2]; ++z)
    for (int y = -H; y < array.n[1] + H; ++y)
      for (int x = -H; x < array.n[0] + H; ++x) {
        const int gx = x + part.first[0], gy = y + part.first[1], gz = z + part.first[2];
        const bool owned = x >= 0 && x < array.n[0] && y >= 0 && y < array.n[1];
        const bool beyond = gx < 0 || gx >= all[0] || gy < 0 || gy >= all[1];
        if (owned || beyond) array(x, y, z) = 0.01 * ((gx * 37 + gy * 17 + gz * 29) % 101);
      }
}

/// One sweep: differences on the faces across x, and what they and the cells give.
void faces_of(Array& u, Array& flux) {
  for (int z = 0; z < u.n[2]; ++z)
    for (int y = 0; y < u.n[1]; ++y)
      for (int x = 0; x <= u.n[0]; ++x) flux(x, y, z) = u(x, y, z) - u(x - 1, y, z);
}
void sweep(Array& u, Array& flux, Array& v) {
  for (int z = 0; z < u.n[2]; ++z)
    for (int y = 0; y < u.n[1]; ++y)
      for (int x = 0; x < u.n[0]; ++x)
        v(x, y, z) = u(x, y, z) + 0.05 * (flux(x + 2, y, z) - flux(x - 1, y, z)) +
                     0.02 * (u(x, y - 2, z) + u(x, y + 2, z) + u(x, y, z - 2) + u(x, y, z + 2) -
                             4 * u(x, y, z));
}

/// The halo by hand, axis after axis, so that edges and corners come along.
void exchange_by_hand(const Part& part, Array& array) {
  std::array<MPI_Datatype, 3> slab;
  const int pitch = static_cast<int>(array.stride[1]);
  for (int axis = 0; axis < 3; ++axis) {
    const int size[] = {array.n[2] + 2 * H, array.n[1] + 2 * H, pitch};
    int layers[] = {array.n[2] + 2 * H, array.n[1] + 2 * H, array.n[0] + 2 * H},
        start[] = {0, 0, 0};
    layers[2 - axis] = H;
    MPI_Type_create_subarray(3, size, layers, start, MPI_ORDER_C, MPI_DOUBLE, &slab[axis]);
    MPI_Type_commit(&slab[axis]);
  }
  double* u = array.values.data();
  for (int axis = 0; axis < 3; ++axis) {
    int lower, upper;
    MPI_Cart_shift(part.cart, axis, 1, &lower, &upper);
    const int n = part.n[axis], more = array.n[axis] - n;  // 1 for faces, which neighbours share
    const std::int64_t step = array.stride[axis];
    MPI_Sendrecv(u + (H + more) * step, 1, slab[axis], lower, 0, u + (n + more + H) * step, 1,
                 slab[axis], upper, 0, part.cart, MPI_STATUS_IGNORE);
    MPI_Sendrecv(u + n * step, 1, slab[axis], upper, 1, u, 1, slab[axis], lower, 1, part.cart,
                 MPI_STATUS_IGNORE);
  }
  for (MPI_Datatype& type : slab) MPI_Type_free(&type);
}

Array solve_by_hand(const Part& part) {
  Array u(part.n), v(part.n), flux({part.n[0] + 1, part.n[1], part.n[2]});
  begin(part, u);
  begin(part, v);
  begin(part, flux);
  for (int step = 0; step < sweeps; ++step) {
    exchange_by_hand(part, u);
    faces_of(u, flux);
    exchange_by_hand(part, flux);
    sweep(u, flux, v);
    std::swap(u, v);
  }
  return u;
}

Array solve_with_halocline(const Part& part) {
  using namespace halocline;
  Array u(part.n), v(part.n), flux({part.n[0] + 1, part.n[1], part.n[2]});
  begin(part, u);
  begin(part, v);
  begin(part, flux);

  // MPI_Cart counts ranks fastest along its last axis, Halocline along x.
  const auto [px, py, pz] = part.dims;
  MPI_Comm x_first;
  MPI_Comm_split(part.cart, 0, part.place[0] + px * (part.place[1] + py * part.place[2]), &x_first);
  const Communicator ranks = from_mpi(x_first);
  const Grid grid(ranks, {.cells = {all[0], all[1], all[2]},
                          .periodic = {false, false, true},
                          .process_grid = {px, py, pz},
                          .expected_halo = H});

  const auto wrap = [&](Array& array, const FieldOptions& options) {
    const ArrayPlace place = place_in_array(
        grid, options, {.strides = {array.stride[0], array.stride[1], array.stride[2]}});
    return Field<double>(grid, array.values.data() + place.first_owned, place.strides, options);
  };
  const Field<double> first = wrap(u, {.name = "u", .halo = H}),
                      second = wrap(v, {.name = "v", .halo = H});
  const Field<double> faces =
      wrap(flux, {.name = "flux", .halo = HaloWidths({H, H, H}, {H + 1, H, H})});
  LevelExchange halo(ranks, grid, {{first}, {second}});
  Exchange halo_of_flux(ranks, grid, {faces});

  for (int step = 0; step < sweeps; ++step) {
    halo.run(step % 2);
    faces_of(u, flux);
    halo_of_flux.run();
    sweep(u, flux, v);
    std::swap(u, v);
  }
  MPI_Comm_free(&x_first);
  return u;
}
}  // namespace

int main() {
  alarm(60);                         // nothing here runs for longer
  const halocline::Runtime runtime;  // starts MPI, since this program does not
  Part part = make_part();
  Array by_hand = solve_by_hand(part), with_halocline = solve_with_halocline(part);
  int wrong = 0, all_wrong = 0, rank;
  for (int z = 0; z < part.n[2]; ++z)
    for (int y = 0; y < part.n[1]; ++y)
      for (int x = 0; x < part.n[0]; ++x)
        wrong += by_hand(x, y, z) != with_halocline(x, y, z) ? 1 : 0;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, part.cart);
  MPI_Comm_rank(part.cart, &rank);
  if (rank == 0)
    std::printf("process grid %dx%dx%d, cells that differ: %d\n", part.dims[0], part.dims[1],
                part.dims[2], all_wrong);
  MPI_Comm_free(&part.cart);
  return all_wrong == 0 ? 0 : 1;
}
