// SPDX-License-Identifier: Apache-2.0
#pragma once
// Swaps plain data with several peers.

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "comm/gate.hpp"

namespace halocline::comm {

/// Sends `mine[i]` to rank `peers[i]`; returns the data that those ranks sent. `site` is a string
/// literal that names the wait. Every peer must make the same call with the same tag. Throws
/// communication for a peer that does not within the wait limit.
template <class T>
std::vector<T> swap_with(State& state, const std::vector<int>& peers, int tag,
                         const std::vector<T>& mine, const char* site) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto memory = std::make_shared<std::pair<std::vector<T>, std::vector<T>>>(
      mine, std::vector<T>(peers.size()));
  auto& [out, in] = *memory;
  std::vector<MPI_Request> requests;
  for (std::size_t p = 0; p < peers.size(); ++p) {
    requests.resize(requests.size() + 2, MPI_REQUEST_NULL);
    check(MPI_Irecv(&in[p], static_cast<int>(sizeof(T)), MPI_BYTE, peers[p], tag, state.all(),
                    &requests[requests.size() - 2]),
          "MPI_Irecv");
    check(MPI_Isend(&out[p], static_cast<int>(sizeof(T)), MPI_BYTE, peers[p], tag, state.all(),
                    &requests[requests.size() - 1]),
          "MPI_Isend");
  }
  wait_all(state, requests, {.site = site, .phase = Phase::other, .missing = {}}, memory);
  return in;
}

}  // namespace halocline::comm
