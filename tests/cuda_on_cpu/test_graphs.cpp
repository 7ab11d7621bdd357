// SPDX-License-Identifier: Apache-2.0
// Graphs of the test double: captures, what they refuse, and replays.

#include <thread>
#include <vector>

#include "support.hpp"

namespace cuda_on_cpu::test {
namespace {

TEST_P(CudaOnCpu, GraphsReplayWhatWasCaptured) {
  int *value = device_copy(std::vector<int>{5, 0, 0, 0}), *pinned = nullptr, calls = 0;
  OK(cudaMallocHost(&pinned, 4 * sizeof(int)));
  OK(cudaDeviceSynchronize());
  const cudaStream_t stream = new_stream(), other = new_stream();
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  int digit = 1;
  OK(start(1, 1, stream, times_ten_plus, value, digit));
  digit = 2;
  OK(start(1, 1, stream, times_ten_plus, value, digit));
  OK(cudaMemcpyAsync(value + 1, value, sizeof(int), cudaMemcpyDeviceToDevice, stream));
  OK(cudaMemcpy2DAsync(value + 2, 4, value, 4, 4, 1, cudaMemcpyDeviceToDevice, stream));
  OK(cudaMemsetAsync(value + 3, 1, sizeof(int), stream));
  OK(cudaMemcpyAsync(pinned, value, 4 * sizeof(int), cudaMemcpyDeviceToHost, stream));
  OK(cudaLaunchHostFunc(
      stream, [](void* data) { ++*static_cast<int*>(data); }, &calls));
  cudaStreamCaptureStatus status{};
  OK(cudaStreamIsCapturing(stream, &status));
  EXPECT_EQ(cudaStreamCaptureStatusActive, status);
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaStreamIsCapturing(stream, &status));
  EXPECT_EQ(cudaStreamCaptureStatusNone, status);

  std::size_t count = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(7u, count);
  std::vector<cudaGraphNode_t> nodes(count = 9);
  OK(cudaGraphGetNodes(graph, nodes.data(), &count));
  EXPECT_EQ(7u, count);
  EXPECT_NE(nullptr, nodes[6]);
  EXPECT_EQ(nullptr, nodes[7]);

  cudaGraphExec_t exec = nullptr;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphDestroy(graph));
  OK(cudaGraphUpload(exec, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0, calls);
  EXPECT_EQ(5, host_copy(value, 1)[0]);
  OK(cudaGraphLaunch(exec, stream));
  OK(start(1, 1, stream, times_ten_plus, value, 3));
  OK(cudaGraphLaunch(exec, stream));
  OK(cudaGraphLaunch(exec, other));  // comes behind the launch before
  OK(cudaGraphExecDestroy(exec));
  OK(cudaStreamSynchronize(other));
  EXPECT_EQ(3, calls);
  const int all = 51231212;
  EXPECT_EQ((std::vector<int>{all, all, all, 0x01010101}), std::vector<int>(pinned, pinned + 4));
  EXPECT_EQ(cudaErrorInvalidValue, cudaGraphLaunch(exec, stream));
  EXPECT_EQ(cudaErrorInvalidValue, cudaGraphDestroy(graph));
}

TEST_P(CudaOnCpu, CapturesForkAndJoin) {
  int* value = device_copy(std::vector<int>{0});
  OK(cudaDeviceSynchronize());
  const cudaStream_t streams[] = {new_stream(), new_stream(cudaStreamDefault), new_stream()};
  const cudaEvent_t event = new_event();
  OK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
  OK(cudaEventRecord(event, streams[0]));
  for (int digit = 1; digit <= 7; ++digit) {
    const cudaStream_t stream = streams[digit % 3];
    OK(cudaStreamWaitEvent(stream, event));
    OK(start(1, 1, stream, times_ten_plus, value, digit));
    OK(cudaEventRecord(event, stream));
  }
  OK(cudaStreamWaitEvent(streams[0], event));
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(streams[0], &graph));
  cudaGraphExec_t exec = nullptr;
  OK(cudaGraphInstantiate(&exec, graph));
  OK(cudaGraphLaunch(exec, streams[1]));
  OK(cudaStreamSynchronize(nullptr));  // waits for blocking streams
  EXPECT_EQ(1234567, host_copy(value, 1)[0]);

  // The event is free again.
  OK(cudaEventRecord(event, streams[2]));
  OK(cudaEventSynchronize(event));
}

TEST(CudaOnCpuGraphs, BranchesDoNotKeepTheOrderOfTheirCapture) {
  for (const char* order : {"eager", "lazy"}) {
    with({{"CUDA_ON_CPU_ORDER", order}});
    int* value = device_copy(std::vector<int>{0});
    const cudaStream_t one = new_stream(), two = new_stream();
    OK(cudaDeviceSynchronize());
    run_as_branches(one, two, [&] {
      OK(start(1, 1, one, times_ten_plus, value, 1));
      OK(start(1, 1, two, times_ten_plus, value, 2));
    });
    EXPECT_EQ(21, host_copy(value, 1)[0]);
  }
}

TEST_P(CudaOnCpu, CapturesRefuseWhatTheyCannotHold) {
  char *device = device_copy(std::vector<char>(16)), *pinned = nullptr, own = 0;
  OK(cudaMallocHost(&pinned, 16));
  const cudaStream_t stream = new_stream(), other = new_stream();
  const cudaEvent_t captured = new_event(), outside = new_event();
  OK(cudaEventRecord(outside, other));
  cudaIpcMemHandle_t handle{};
  void* memory = nullptr;
  cudaGraph_t graph = nullptr;
  const auto invalid = [&](cudaStreamCaptureMode mode, cudaError_t expected, auto deed) {
    OK(cudaDeviceSynchronize());
    OK(cudaStreamBeginCapture(stream, mode));
    OK(cudaEventRecord(captured, stream));
    EXPECT_EQ(expected, deed());
    cudaStreamCaptureStatus status{};
    OK(cudaStreamIsCapturing(stream, &status));
    EXPECT_EQ(cudaStreamCaptureStatusInvalidated, status);
    EXPECT_EQ(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(device, 0, 1, stream));
    EXPECT_EQ(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    EXPECT_EQ(nullptr, graph);
    OK(cudaMemsetAsync(device, 0, 1, stream));
  };
  const auto relaxed = cudaStreamCaptureModeRelaxed, global = cudaStreamCaptureModeGlobal,
             local = cudaStreamCaptureModeThreadLocal;
  const auto unsupported = cudaErrorStreamCaptureUnsupported;
  // In every mode.
  invalid(relaxed, unsupported, [&] { return cudaStreamSynchronize(stream); });
  invalid(relaxed, unsupported, [&] { return cudaStreamQuery(stream); });
  invalid(relaxed, unsupported, [&] { return cudaDeviceSynchronize(); });
  invalid(relaxed, unsupported, [&] { return cudaMallocAsync(&memory, 16, stream); });
  invalid(relaxed, cudaErrorCapturedEvent, [&] { return cudaEventSynchronize(captured); });
  invalid(relaxed, cudaErrorCapturedEvent, [&] { return cudaEventQuery(captured); });
  invalid(relaxed, cudaErrorStreamCaptureIsolation,
          [&] { return cudaStreamWaitEvent(stream, outside); });
  invalid(relaxed, unsupported,
          [&] { return cudaMemcpyAsync(device, &own, 1, cudaMemcpyHostToDevice, stream); });
  invalid(relaxed, cudaErrorStreamCaptureImplicit,
          [&] { return cudaStreamWaitEvent(nullptr, captured); });
  // Where other threads' captures count, or this thread's.
  invalid(global, unsupported, [&] { return cudaMalloc(&memory, 16); });
  invalid(local, unsupported, [&] { return cudaFree(device); });
  invalid(global, unsupported, [&] { return cudaMallocHost(&memory, 16); });
  invalid(global, unsupported, [&] { return cudaFreeHost(pinned); });
  invalid(global, unsupported, [&] { return cudaHostRegister(&own, 1, 0); });
  invalid(local, unsupported, [&] { return cudaIpcGetMemHandle(&handle, device); });
  invalid(local, unsupported, [&] { return cudaEventQuery(outside); });

  OK(cudaStreamBeginCapture(stream, relaxed));
  EXPECT_EQ(cudaErrorIllegalState, cudaStreamBeginCapture(stream, relaxed));
  OK(cudaMalloc(&memory, 16));
  OK(cudaFree(memory));
  OK(cudaStreamSynchronize(other));
  OK(cudaEventRecord(captured, stream));
  OK(cudaStreamWaitEvent(other, captured));
  EXPECT_EQ(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(other, &graph));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(cudaErrorCapturedEvent, cudaStreamWaitEvent(other, captured));
  EXPECT_EQ(unsupported, cudaStreamBeginCapture(nullptr, relaxed));

  // A fork without work needs no join.
  for (const bool works : {false, true}) {
    OK(cudaStreamBeginCapture(stream, global));
    OK(cudaMemsetAsync(device, 0, 1, stream));
    OK(cudaEventRecord(captured, stream));
    OK(cudaStreamWaitEvent(other, captured));
    if (works) {
      OK(cudaMemsetAsync(device, 0, 1, other));
    }
    EXPECT_EQ(works ? cudaErrorStreamCaptureUnjoined : cudaSuccess,
              cudaStreamEndCapture(stream, &graph));
    EXPECT_EQ(works, graph == nullptr);
    OK(cudaStreamSynchronize(other));
  }

  OK(cudaStreamBeginCapture(stream, relaxed));
  OK(cudaEventRecord(captured, stream));
  OK(cudaStreamBeginCapture(other, relaxed));
  EXPECT_EQ(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(other, captured));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(other, &graph));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));

  // The legacy stream would wait for a blocking one.
  const cudaStream_t blocking = new_stream(cudaStreamDefault);
  OK(cudaStreamBeginCapture(blocking, relaxed));
  cudaStreamCaptureStatus status{};
  EXPECT_EQ(cudaErrorStreamCaptureImplicit, cudaStreamIsCapturing(nullptr, &status));
  EXPECT_EQ(cudaErrorStreamCaptureImplicit, cudaMemset(device, 0, 1));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(blocking, &graph));
}

TEST(CudaOnCpuGraphs, OtherThreadsAreHinderedByGlobalCaptures) {
  with({});
  const cudaStream_t stream = new_stream();
  cudaGraph_t graph = nullptr;
  const auto other_thread = [](auto call) {
    cudaError_t error{};
    std::thread([&] { error = call(); }).join();
    return error;
  };
  void* memory = nullptr;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  OK(other_thread([&] { return cudaMalloc(&memory, 16); }));
  EXPECT_EQ(cudaErrorStreamCaptureWrongThread,
            other_thread([&] { return cudaStreamEndCapture(stream, &graph); }));
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_EQ(cudaErrorStreamCaptureUnsupported, other_thread([&] { return cudaFree(memory); }));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
}

}  // namespace
}  // namespace cuda_on_cpu::test
