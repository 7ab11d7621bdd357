// SPDX-License-Identifier: Apache-2.0
#include "graphs.hpp"

#include <algorithm>
#include <utility>

namespace cuda_on_cpu {

bool Capture::is_joined(const std::vector<std::size_t>& ends) const {
  std::vector<bool> reached(nodes.size());
  for (const std::size_t node : ends) reached[node] = true;
  for (std::size_t node = nodes.size(); node-- > 0;) {
    if (!reached[node]) return false;
    for (const std::size_t before : nodes[node].after) reached[before] = true;
  }
  return true;
}

void add_node(Stream& stream, std::function<void()> run) {
  Nodes& nodes = stream.capture->nodes;
  nodes.push_back({stream.device, std::move(run), std::move(stream.ends)});
  stream.ends = {nodes.size() - 1};
}

void join(Stream& stream, const std::shared_ptr<Capture>& capture,
          const std::vector<std::size_t>& nodes) {
  stream.capture = capture;
  for (const std::size_t node : nodes) {
    if (std::count(stream.ends.begin(), stream.ends.end(), node) == 0) stream.ends.push_back(node);
  }
}

WorkPtr replay(Queue& queue, Stream& stream, const Nodes& nodes, const WorkPtr& also) {
  const WorkPtr begin = queue.add(stream, nullptr, {also});
  std::vector<WorkPtr> works;
  for (const CUgraphNode_st& node : nodes) {
    std::vector<WorkPtr> after{begin};
    for (const std::size_t before : node.after) after.push_back(works[before]);
    works.push_back(queue.add_alone(node.device, node.run, after));
  }
  // The last branch first: who counts on the order of capture instead of an event shall see it.
  std::reverse(works.begin(), works.end());
  return queue.add(stream, nullptr, works);
}

}  // namespace cuda_on_cpu
