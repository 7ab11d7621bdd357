// SPDX-License-Identifier: Apache-2.0
#include "lab/mesh_order.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

namespace halocline::bench {
namespace {

using Call = MeshStep::Call;

constexpr std::string_view order_names[] = {"send-first", "ordered", "irecv-send", "irecv-isend"};

/// Steps of one rank, where there are neighbours for them.
class Steps {
 public:
  explicit Steps(const MeshNeighbours& neighbours) : neighbours_(neighbours) {}

  void send(Call call, int lane) { add(call, lane, lane); }
  void receive(Call call, int lane) { add(call, lane, opposite(lane)); }
  void send_all(Call call) {
    for (int lane = 0; lane < mesh_lanes; ++lane) send(call, lane);
  }
  void receive_all(Call call) {
    for (int lane = 0; lane < mesh_lanes; ++lane) receive(call, lane);
  }
  void wait_all() { steps_.push_back({.call = Call::wait_all}); }
  std::vector<MeshStep> take() { return std::move(steps_); }

 private:
  void add(Call call, int lane, int side) {
    const int peer = neighbours_[static_cast<std::size_t>(side)];
    if (peer >= 0) steps_.push_back({call, lane, peer});
  }

  MeshNeighbours neighbours_;
  std::vector<MeshStep> steps_;
};

}  // namespace

std::string_view name_of(MeshOrder order) { return order_names[static_cast<std::size_t>(order)]; }

MeshOrder mesh_order_named(std::string_view name) {
  for (const MeshOrder order : mesh_orders)
    if (name_of(order) == name) return order;
  throw Error(ErrorKind::usage, fmt::format("unknown order '{}'; choose from: {}", name,
                                            fmt::join(order_names, ", ")));
}

std::string_view name_of_lane(int lane) {
  constexpr std::string_view names[] = {"-x", "+x", "-y", "+y"};
  return names[lane];
}

std::vector<MeshStep> mesh_steps(MeshOrder order, const MeshNeighbours& neighbours) {
  Steps steps(neighbours);
  switch (order) {
    case MeshOrder::send_first:
      steps.send_all(Call::send);
      steps.receive_all(Call::receive);
      break;
    case MeshOrder::ordered:
      for (int lane = 0; lane < mesh_lanes; ++lane) {
        steps.send(Call::send, lane);
        steps.receive(Call::receive, lane);
      }
      break;
    case MeshOrder::irecv_send:
      steps.receive_all(Call::ireceive);
      steps.send_all(Call::send);
      steps.wait_all();
      break;
    case MeshOrder::irecv_isend:
      steps.receive_all(Call::ireceive);
      steps.send_all(Call::isend);
      steps.wait_all();
      break;
  }
  return steps.take();
}

}  // namespace halocline::bench
