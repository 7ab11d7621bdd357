// SPDX-License-Identifier: Apache-2.0
#include "comm/gate.hpp"

#include <array>

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::comm {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(ErrorKind::communication,
              fmt::format("{} failed: {}", call,
                          std::string_view(text.data(), static_cast<std::size_t>(length))));
}

void wait_all(State& state, std::span<MPI_Request> requests, const Wait& wait,
              std::shared_ptr<const void> memory) {
  const auto done = [&] {
    int all = 0;
    check(
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all, MPI_STATUSES_IGNORE),
        wait.site);
    return all != 0;
  };
  try {
    wait_until(state, wait, done);
  } catch (...) {
    keep_for_mpi(std::move(memory));
    throw;
  }
}

void barrier_on_node(State& state, const char* site) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(state.node(), &request), "MPI_Ibarrier");
  wait_all(state, {&request, 1}, {.site = site, .phase = Phase::other, .missing = {}});
}

}  // namespace halocline::comm
