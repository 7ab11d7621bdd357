// SPDX-License-Identifier: Apache-2.0
// Heat with deep halos: an exchange every DEPTH sweeps, the same bits, fewer messages.
#include <mpi.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstdio>

#include <halocline/halocline.hpp>

#include "../whole_number.hpp"

namespace {

using namespace halocline;

struct Result {
  Field<double> u;
  long long messages, updates;  // of all ranks
};

double noise(std::int64_t x, std::int64_t y) {
  return static_cast<double>((x * 7919 + y * 104729) % 1009) / 1009;
}

// The cells [lower, upper) one step later; outside the domain u stays 0.
void sweep(const Field<double>& u, const Field<double>& next, const Box& box) {
  for (auto y = box.lower.y; y < box.upper.y; ++y)
    for (auto x = box.lower.x; x < box.upper.x; ++x)
      next(x, y) = u(x, y) + 0.2 * (((u(x - 1, y) + u(x + 1, y)) + (u(x, y - 1) + u(x, y + 1))) -
                                    4 * u(x, y));
}

Result solve_with(std::int64_t depth, const Communicator& world, const Grid& grid,
                  std::int64_t sweeps) {
  const FieldOptions options{.name = "u", .halo = depth};
  Field<double> levels[2] = {Field<double>(grid, options), Field<double>(grid, options)};
  LevelExchange halos(world, grid, {{levels[0]}, {levels[1]}});
  const Box domain{{0, 0, 0}, grid.cells().values()}, own = grid.owned();
  for (auto y = own.lower.y; y < own.upper.y; ++y)
    for (auto x = own.lower.x; x < own.upper.x; ++x) levels[0](x, y) = noise(x, y);

  long long counts[2] = {0, 0};  // messages, updates
  for (std::int64_t s = 0; s < sweeps; ++s) {
    if (s % depth == 0) {
      halos.run(s % 2);
      counts[0] += halos.info().messages;
    }
    // Later sweeps before the next exchange need their neighbours' cells at this time too: this
    // rank updates them itself, a ring less each sweep. That is the price.
    const std::int64_t rim = depth - 1 - s % depth;
    const Box box = intersect(grow(own, {rim, rim, 0}, {rim, rim, 0}), domain);
    sweep(levels[s % 2], levels[1 - s % 2], box);
    counts[1] += box.cells();
  }
  MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return {levels[sweeps % 2], counts[0], counts[1]};
}

// Own cells whose bits differ, on all ranks.
long long different(const Field<double>& a, const Field<double>& b, const Box& own) {
  long long count = 0;
  for (auto y = own.lower.y; y < own.upper.y; ++y)
    for (auto x = own.lower.x; x < own.upper.x; ++x)
      count += std::bit_cast<std::uint64_t>(a(x, y)) != std::bit_cast<std::uint64_t>(b(x, y));
  MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  alarm(60);  // nothing here runs for longer
  Runtime runtime;
  const Communicator world = Communicator::world();
  try {
    const auto depth = whole_number(argc > 1 ? argv[1] : "4", 1, 64);
    if (!depth)
      throw Error(ErrorKind::usage, "usage: fewer_messages [DEPTH], sweeps per exchange, 1 to 64");
    constexpr std::int64_t sweeps = 48;
    const Grid grid(world, {.cells = {200, 160}, .expected_halo = *depth});
    const Result often = solve_with(1, world, grid, sweeps);
    const Result seldom = solve_with(*depth, world, grid, sweeps);
    const long long differ = different(often.u, seldom.u, grid.owned());
    if (world.rank() == 0) {
      std::printf("%lld sweeps of 200x160 cells, ranks: %d\n", static_cast<long long>(sweeps),
                  world.size());
      const auto tell = [](long long every, const Result& result) {
        std::printf("  exchange every %2lld: messages %4lld, updates %lld\n", every,
                    result.messages, result.updates);
      };
      tell(1, often);
      tell(*depth, seldom);
      std::printf("  cells whose bits differ: %lld\n", differ);
    }
    return differ == 0 ? 0 : 1;
  } catch (const Error& error) {
    if (world.rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    return error.kind() == ErrorKind::usage ? 2 : 4;
  }
}
