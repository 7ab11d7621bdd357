// SPDX-License-Identifier: Apache-2.0
// Collectives on the host: what each does, with results to check by hand.
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace {

struct World {
  int rank, ranks;
};

// One rank's values for everybody.
bool broadcast(World world) {
  std::array<int, 4> values{};
  if (world.rank == 0) values = {1, 2, 3, 4};
  MPI_Bcast(values.data(), 4, MPI_INT, 0, MPI_COMM_WORLD);
  return values == std::array{1, 2, 3, 4};
}

// A piece for each rank, and the pieces back.
bool scatter_and_gather(World world) {
  std::vector<int> all(static_cast<std::size_t>(world.rank == 0 ? world.ranks : 0));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i * i);
  int mine = -1;
  MPI_Scatter(all.data(), 1, MPI_INT, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
  bool right = mine == world.rank * world.rank;
  mine += 1;
  MPI_Gather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < all.size(); ++i) right &= all[i] == static_cast<int>(i * i) + 1;
  return right;
}

// The product of 1, 2, ... is the factorial of the number of ranks, in 64 bits up to 20!.
bool factorial(World world) {
  const double mine = world.rank + 1;
  double product = 0, expected = 1;
  MPI_Reduce(&mine, &product, 1, MPI_DOUBLE, MPI_PROD, 0, MPI_COMM_WORLD);
  if (world.rank != 0) return true;
  for (int i = 2; i <= world.ranks; ++i) expected *= i;
  std::printf("reduce: %d! = %.0f\n", world.ranks, product);
  return product == expected || world.ranks > 18;  // beyond 2^53 the order of factors tells
}

// The largest value and who has it, known to all.
bool largest(World world) {
  struct {
    int value, rank;
  } mine{(world.rank * 7919 + 13) % 101, world.rank}, most{};
  MPI_Allreduce(&mine, &most, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
  if (world.rank == 0) std::printf("allreduce: most is %d, on rank %d\n", most.value, most.rank);
  return mine.value <= most.value && (mine.rank != most.rank || mine.value == most.value);
}

// A piece from everybody for everybody: a transposition.
bool everybody_to_everybody(World world) {
  std::vector<int> sent(static_cast<std::size_t>(world.ranks)), came(sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = 1000 * world.rank + static_cast<int>(i);
  MPI_Alltoall(sent.data(), 1, MPI_INT, came.data(), 1, MPI_INT, MPI_COMM_WORLD);
  bool right = true;
  for (std::size_t i = 0; i < came.size(); ++i)
    right &= came[i] == 1000 * static_cast<int>(i) + world.rank;
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  alarm(60);  // nothing here runs for longer
  MPI_Init(&argc, &argv);
  World world{};
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
  const struct {
    const char* name;
    bool (*run)(World);
  } collectives[] = {{"bcast", broadcast},
                     {"scatter, gather", scatter_and_gather},
                     {"reduce", factorial},
                     {"allreduce", largest},
                     {"alltoall", everybody_to_everybody}};
  bool all_right = true;
  for (const auto& [name, run] : collectives) {
    int right = run(world);
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (world.rank == 0) std::printf("%-16s %s\n", name, right ? "right on every rank" : "WRONG");
    all_right &= right != 0;
  }
  MPI_Finalize();
  return all_right ? 0 : 1;
}
