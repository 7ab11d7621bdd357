// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs: work that was captured instead of queued, to be queued again and again.

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "cuda_runtime_api.h"
#include "queue.hpp"

struct CUgraphNode_st {
  int device;
  std::function<void()> run;
  std::vector<std::size_t> after;  // smaller numbers of nodes of the graph
};

namespace cuda_on_cpu {

using Nodes = std::vector<CUgraphNode_st>;

/// What was captured from cudaStreamBeginCapture on; the streams that take part point here.
struct Capture {
  const Stream* origin;
  cudaStreamCaptureMode mode;
  std::thread::id thread = std::this_thread::get_id();
  Nodes nodes{};
  bool valid = true;
  bool ended = false;

  /// True if every node is followed, sooner or later, by one of these or is one.
  bool is_joined(const std::vector<std::size_t>& ends) const;
};

/// Adds a node to the capture that a stream takes part in.
void add_node(Stream& stream, std::function<void()> run);
/// Lets a stream wait for these nodes of a capture, of which it becomes a part.
void join(Stream& stream, const std::shared_ptr<Capture>& capture,
          const std::vector<std::size_t>& nodes);

/// Queues all nodes, behind the stream's work and `also`; returns what is done when all are.
WorkPtr replay(Queue& queue, Stream& stream, const Nodes& nodes, const WorkPtr& also);

}  // namespace cuda_on_cpu

struct CUgraph_st {
  cuda_on_cpu::Nodes nodes;
};
struct CUgraphExec_st {
  cuda_on_cpu::Nodes nodes;
  cuda_on_cpu::WorkPtr last = nullptr;  // the launch before
};
