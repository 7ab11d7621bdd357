// SPDX-License-Identifier: Apache-2.0
// Objects that end after MPI_Finalize: calls throw usage, destructors are silent, and the program
// ends as it should. Over each transport of the host, once with an exchange in flight.
#include <mpi.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <halocline/error.hpp>
#include <halocline/exchange.hpp>
#include <halocline/halocline.hpp>
#include <halocline/measure.hpp>
#include <halocline/mpi.hpp>

namespace {

int failures = 0;

void expect_refused(const char* what, const std::function<void()>& call) {
  std::string text = "no error";
  try {
    call();
  } catch (const halocline::Error& error) {
    text = error.what();
    if (error.kind() == halocline::ErrorKind::usage &&
        text.find("MPI is finalised") != std::string::npos)
      return;
  }
  std::fprintf(stderr, "%s after MPI_Finalize: %s\n", what, text.c_str());
  ++failures;
}

void run() {
  using namespace halocline;
  // Ends last, and must not finalise MPI again.
  const Runtime runtime;
  const Communicator world = Communicator::world({.wait_limit = std::chrono::seconds(20)});
  const Grid grid(world, {.cells = {16, 4 * world.size()}, .periodic = {true, true}});
  const Field<double> u(grid);
  std::vector<Exchange> exchanges;
  for (const char* const transport :
       {"auto", "self=self,same-node=mpi", "self=self,same-node=shared"})
    for (int i = 0; i < 2; ++i)
      exchanges.emplace_back(world, grid, FieldList{u}, ExchangeOptions{.transport = transport});
  for (Exchange& exchange : exchanges) exchange.run();
  for (std::size_t i = 0; i < exchanges.size(); i += 2) exchanges[i].start();
  // So that no message is on its way, which MPI_Finalize might wait for.
  for (std::size_t i = 0; i < exchanges.size(); i += 2)
    while (!exchanges[i].progress()) {
    }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();

  expect_refused("start", [&] { exchanges[1].start(); });
  expect_refused("run", [&] { exchanges[3].run(); });
  for (std::size_t i = 0; i < exchanges.size(); i += 2) {
    expect_refused("progress", [&] { exchanges[i].progress(); });
    expect_refused("finish", [&] { exchanges[i].finish(); });
  }
  expect_refused("Exchange", [&] { Exchange(world, grid, {u}); });
  expect_refused("checksum", [&] { checksum(world, grid, u); });
  expect_refused("norm", [&] { norm(world, Norm::max, 1); });
  expect_refused("world", [] { Communicator::world(); });
  expect_refused("from_mpi", [] { from_mpi(MPI_COMM_WORLD); });
  expect_refused("Runtime", [] { const Runtime again; });
}

}  // namespace

int main() {
  run();
  return failures == 0 ? 0 : 1;
}
