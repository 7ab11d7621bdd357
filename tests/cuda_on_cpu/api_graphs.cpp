// SPDX-License-Identifier: Apache-2.0
// Calls about graphs.

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "runtime.hpp"

using cuda_on_cpu::call;
using cuda_on_cpu::call_on;
using cuda_on_cpu::Capture;
using cuda_on_cpu::Needs;
using cuda_on_cpu::Runtime;
using cuda_on_cpu::Stream;
using cuda_on_cpu::StreamKind;
using cuda_on_cpu::Use;

namespace {

/// Lets go of all streams that take part.
void end(Runtime& runtime, const std::shared_ptr<Capture>& capture) {
  const auto leave = [&](Stream& stream) {
    if (stream.capture != capture) return;
    stream.capture = nullptr;
    stream.ends.clear();
  };
  capture->ended = true;
  for (const cudaStream_t stream : runtime.streams) leave(*stream);
  for (Stream& stream : runtime.per_thread) leave(stream);
  std::erase(runtime.captures, capture);
}

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return call_on(handle, Use::looks, [&](Runtime& runtime, Stream& stream) {
    if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) {
      return cudaErrorInvalidValue;
    }
    if (stream.kind == StreamKind::legacy) return cudaErrorStreamCaptureUnsupported;
    if (stream.capture) return cudaErrorIllegalState;
    stream.capture = std::make_shared<Capture>(Capture{&stream, mode});
    runtime.captures.push_back(stream.capture);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* pGraph) {
  return call_on(handle, Use::looks, [&](Runtime& runtime, Stream& stream) {
    if (!pGraph) return cudaErrorInvalidValue;
    *pGraph = nullptr;
    const std::shared_ptr<Capture> capture = stream.capture;
    if (!capture) return cudaErrorIllegalState;
    if (capture->origin != &stream) {
      capture->valid = false;
      return cudaErrorStreamCaptureUnmatched;
    }
    if (capture->mode != cudaStreamCaptureModeRelaxed &&
        capture->thread != std::this_thread::get_id()) {
      return cudaErrorStreamCaptureWrongThread;
    }
    const bool joined = capture->is_joined(stream.ends);
    end(runtime, capture);
    if (!capture->valid) return cudaErrorStreamCaptureInvalidated;
    if (!joined) return cudaErrorStreamCaptureUnjoined;
    *pGraph = new CUgraph_st{std::move(capture->nodes)};
    runtime.graphs.insert(*pGraph);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* pCaptureStatus) {
  return call_on(handle, Use::looks, [&](Runtime&, Stream& stream) {
    if (!pCaptureStatus) return cudaErrorInvalidValue;
    *pCaptureStatus = !stream.capture         ? cudaStreamCaptureStatusNone
                      : stream.capture->valid ? cudaStreamCaptureStatusActive
                                              : cudaStreamCaptureStatusInvalidated;
    return cudaSuccess;
  });
}

// Of the flags only that for launches by kernels would change anything.
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                 unsigned long long flags) {
  return call(Needs::context, [&](Runtime& runtime) {
    constexpr unsigned long long device_launch = 4, all = 15;
    if (!pGraphExec || !runtime.graphs.count(graph) || flags > all) return cudaErrorInvalidValue;
    if (flags & device_launch) return cudaErrorNotSupported;
    *pGraphExec = new CUgraphExec_st{graph->nodes};
    runtime.executables.insert(*pGraphExec);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t handle) {
  return call_on(handle, Use::awaits, [&](Runtime& runtime, Stream& stream) {
    if (!runtime.executables.count(graphExec)) return cudaErrorInvalidValue;
    runtime.queue.add(stream, nullptr, {graphExec->last});
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t handle) {
  return call_on(handle, Use::awaits, [&](Runtime& runtime, Stream& stream) {
    if (!runtime.executables.count(graphExec)) return cudaErrorInvalidValue;
    graphExec->last = replay(runtime.queue, stream, graphExec->nodes, graphExec->last);
    if (runtime.settings.launch_blocking) runtime.queue.wait(graphExec->last);
    return cudaSuccess;
  });
}

// A launch that is queued is still done.
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec) {
  return call(Needs::context, [&](Runtime& runtime) {
    if (!runtime.executables.erase(graphExec)) return cudaErrorInvalidValue;
    delete graphExec;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* numNodes) {
  return call(Needs::context, [&](Runtime& runtime) {
    if (!runtime.graphs.count(graph) || !numNodes) return cudaErrorInvalidValue;
    const std::size_t count = graph->nodes.size();
    if (nodes) {
      for (std::size_t n = 0; n < *numNodes; ++n) nodes[n] = n < count ? &graph->nodes[n] : nullptr;
      *numNodes = std::min(*numNodes, count);
    } else {
      *numNodes = count;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call(Needs::context, [&](Runtime& runtime) {
    if (!runtime.graphs.erase(graph)) return cudaErrorInvalidValue;
    delete graph;
    return cudaSuccess;
  });
}

}  // extern "C"
