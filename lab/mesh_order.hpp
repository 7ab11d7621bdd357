// SPDX-License-Identifier: Apache-2.0
#pragma once
// Orders in which the messages of a mesh exchange can be posted, step by step. Pure.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halocline::bench {

enum class MeshOrder {
  send_first,  ///< MPI_Send to all, then MPI_Recv from all
  ordered,     ///< MPI_Send one way, MPI_Recv from the other, way after way
  irecv_send,  ///< MPI_Irecv from all, MPI_Send to all, MPI_Waitall
  irecv_isend  ///< MPI_Irecv from all, MPI_Isend to all, MPI_Waitall
};
inline constexpr MeshOrder mesh_orders[] = {MeshOrder::send_first, MeshOrder::ordered,
                                            MeshOrder::irecv_send, MeshOrder::irecv_isend};

/// "send-first", "ordered", "irecv-send", "irecv-isend".
std::string_view name_of(MeshOrder order);
/// Throws usage, naming the orders there are.
MeshOrder mesh_order_named(std::string_view name);

/// Messages travel in one of four lanes: -x, +x, -y, +y. What travels in a lane comes from the
/// neighbour on the opposite side.
inline constexpr int mesh_lanes = 4;
inline constexpr int opposite(int lane) { return lane ^ 1; }
std::string_view name_of_lane(int lane);

/// The ranks on the four sides, in the order of lanes; -1: none.
using MeshNeighbours = std::array<int, mesh_lanes>;

/// One call of a rank. Sends and receives block, `i` ones do not.
struct MeshStep {
  enum class Call { send, receive, isend, ireceive, wait_all };
  Call call = Call::wait_all;
  int lane = 0;
  int peer = -1;  ///< -1 for wait_all
  friend bool operator==(const MeshStep&, const MeshStep&) = default;
};

std::vector<MeshStep> mesh_steps(MeshOrder order, const MeshNeighbours& neighbours);

}  // namespace halocline::bench
