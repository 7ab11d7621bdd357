// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of the test double share.

#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "cuda_on_cpu/control.hpp"

namespace cuda_on_cpu::test {

#define OK(call) ASSERT_EQ(cudaSuccess, (call))

__global__ inline void add_one(int* values, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] += 1;
}

__global__ inline void times_ten_plus(int* value, int digit) { *value = *value * 10 + digit; }

/// Another process, which runs `body(*this)`: this program again, which comes to the same place of
/// the same test. So nothing that it should not do may stand before.
class Process {
 public:
  template <class Body>
  explicit Process(Body body) {
    if (const char* ends = std::getenv("CUDA_ON_CPU_TEST_PROCESS")) {
      EXPECT_EQ(2, std::sscanf(ends, "%d,%d", &from_, &to_));
      body(*this);
      std::fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int down[2], up[2];
    EXPECT_EQ(0, pipe(down));
    EXPECT_EQ(0, pipe(up));
    from_ = up[0];
    to_ = down[1];
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    const std::string filter =
        std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
    const std::string ends = std::to_string(down[0]) + "," + std::to_string(up[1]);
    id_ = fork();
    if (id_ == 0) {
      close(from_);
      close(to_);
      setenv("CUDA_ON_CPU_TEST_PROCESS", ends.c_str(), 1);
      execl("/proc/self/exe", "cuda_on_cpu_tests", "--gtest_brief=1", filter.c_str(), nullptr);
      _exit(127);
    }
    close(down[0]);
    close(up[1]);
  }
  ~Process() {
    EXPECT_TRUE(has_ended_) << "wait() is missing";
    close(from_);
    close(to_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  template <class T>
  void send(const T& value) {
    EXPECT_EQ(static_cast<ssize_t>(sizeof value), write(to_, &value, sizeof value));
  }
  /// Gives up after the other end has died.
  template <class T>
  T receive() {
    T value{};
    if (read(from_, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) {
      ADD_FAILURE() << "the other process says nothing";
      if (id_ < 0) _exit(1);
    }
    return value;
  }
  /// Returns 0 if all went well there.
  int wait() {
    int status = -1;
    EXPECT_EQ(id_, waitpid(id_, &status, 0));
    has_ended_ = true;
    return status;
  }

 private:
  pid_t id_ = -1;
  int from_ = -1, to_ = -1;
  bool has_ended_ = false;
};

inline void with(std::initializer_list<std::pair<const char*, const char*>> environment) {
  for (const char* name :
       {"CUDA_ON_CPU_ORDER", "CUDA_ON_CPU_DEVICES", "CUDA_VISIBLE_DEVICES",
        "CUDA_ON_CPU_MEMORY_BYTES", "CUDA_ON_CPU_COMPUTE_MODE", "CUDA_ON_CPU_DRIVER",
        "CUDA_ON_CPU_PAGEABLE", "CUDA_LAUNCH_BLOCKING", "CUDA_ON_CPU_DEVICE_MEMORY",
        "CUDA_ON_CPU_IPC", "CUDA_ON_CPU_VMM", "CUDA_ON_CPU_P2P"}) {
    unsetenv(name);
  }
  for (const auto& [name, value] : environment) setenv(name, value, 1);
  cuda_on_cpu::restart();
}

template <class... Params, class... Args>
cudaError_t start(dim3 grid, dim3 block, cudaStream_t stream, void (*kernel)(Params...),
                  Args... args) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, args...);
}

template <class T>
T* device_copy(const std::vector<T>& values) {
  T* memory = nullptr;
  EXPECT_EQ(cudaSuccess, cudaMalloc(&memory, values.size() * sizeof(T)));
  EXPECT_EQ(cudaSuccess,
            cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

template <class T>
std::vector<T> host_copy(const T* memory, std::size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(cudaSuccess,
            cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

inline cudaStream_t new_stream(unsigned flags = cudaStreamNonBlocking) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaSuccess, cudaStreamCreateWithFlags(&stream, flags));
  return stream;
}

inline cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaSuccess, cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

// Adds to a number in turns with another process: odd turns are one's, even ones the other's.
__global__ inline void take_turns(int* turn, int* number, int first, int last) {
  for (int mine = first; mine <= last; mine += 2) {
    if (threadIdx.x == 0) {
      while (__nv_atomic_load_n(turn, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_SYSTEM) != mine) {
        __nanosleep(100);
      }
    }
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) *number = *number * 2 + mine % 2;
    __syncthreads();
    if (threadIdx.x == 0) {
      __nv_atomic_store_n(turn, mine + 1, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
    }
  }
}

inline cudaIpcMemHandle_t handle_of(void* memory) {
  cudaIpcMemHandle_t handle{};
  EXPECT_EQ(cudaSuccess, cudaIpcGetMemHandle(&handle, memory));
  return handle;
}

template <class T>
cudaError_t open_handle(T** memory, const cudaIpcMemHandle_t& handle) {
  void* begin = nullptr;
  const cudaError_t error = cudaIpcOpenMemHandle(&begin, handle, cudaIpcMemLazyEnablePeerAccess);
  *memory = static_cast<T*>(begin);
  return error;
}

/// Captures what `work` starts on `one` and on `two`, a branch each, and runs that as a graph.
template <class Work>
void run_as_branches(cudaStream_t one, cudaStream_t two, const Work& work) {
  const cudaEvent_t fork = new_event(), join = new_event();
  OK(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
  OK(cudaEventRecord(fork, one));
  OK(cudaStreamWaitEvent(two, fork));
  work();
  OK(cudaEventRecord(join, two));
  OK(cudaStreamWaitEvent(one, join));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  OK(cudaStreamEndCapture(one, &graph));
  OK(cudaGraphInstantiate(&exec, graph));
  OK(cudaGraphLaunch(exec, one));
  OK(cudaStreamSynchronize(one));
}

/// Tests under every order of work; test_cuda_on_cpu.cpp lists the orders.
class CudaOnCpu : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "fast";
    with({{"CUDA_ON_CPU_ORDER", GetParam()}});
  }
};
using CudaOnCpuDeathTest = CudaOnCpu;

}  // namespace cuda_on_cpu::test
