// SPDX-License-Identifier: Apache-2.0
#include "device/graph.hpp"

#include "device/cuda/runtime.hpp"

namespace halocline::device {

Graph Graph::record(Stream stream, const std::function<void()>& work) {
  Graph graph;
  graph.native_ = cuda::record_graph(stream, work);
  return graph;
}

void Graph::launch(Stream stream) const { cuda::launch_graph(native_.get(), stream); }

bool is_recording(Stream stream) { return !stream.is_host() && cuda::is_recording(stream); }

}  // namespace halocline::device
