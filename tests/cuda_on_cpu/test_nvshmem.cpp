// SPDX-License-Identifier: Apache-2.0
// The stand-in for NVSHMEM, loaded as programs load NVSHMEM, by two processes.

#include <dlfcn.h>
#include <nvshmem_host.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "support.hpp"

namespace cuda_on_cpu::test {
namespace {

/// The calls that are tested, of a library loaded for each process.
struct Library {
  void* handle = ::dlopen(NVSHMEM_ON_CPU, RTLD_NOW | RTLD_LOCAL);
  template <class Function>
  Function* find(Function*, const char* name) const {
    void* const found = handle != nullptr ? ::dlsym(handle, name) : nullptr;
    if (found == nullptr) {
      ADD_FAILURE() << "no " << name;
      _exit(1);
    }
    return reinterpret_cast<Function*>(found);
  }
};

// NVSHMEM's call of this name, found in the library.
#define CALL(name, ...) library.find(static_cast<decltype(&::name)>(nullptr), #name)(__VA_ARGS__)

/// Starts PE `pe` of two; 0 has made the identifier. Returns the status.
int start_pe(const Library& library, int pe, nvshmemx_uniqueid_t id) {
  nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
  EXPECT_EQ(0, CALL(nvshmemx_init_status));
  EXPECT_EQ(0, CALL(nvshmemx_set_attr_uniqueid_args, pe, 2, &id, &attr));
  EXPECT_EQ(0, CALL(nvshmemx_hostlib_init_attr, NVSHMEMX_INIT_WITH_UNIQUEID, &attr));
  return CALL(nvshmemx_init_status);
}

/// Runs `body(library, pe)` in two processes, which have begun with the settings; the status of
/// each must be `status`.
template <class Body>
void run_two(const char* fault, int status, Body body) {
  setenv("NVSHMEM_ON_CPU", fault, 1);
  Process other([&](Process& parent) {
    const Library library;
    EXPECT_EQ(status, start_pe(library, 1, parent.receive<nvshmemx_uniqueid_t>()));
    body(library, 1);
  });
  const Library library;
  nvshmemx_uniqueid_t id{};
  EXPECT_EQ(0, CALL(nvshmemx_get_uniqueid, &id));
  other.send(id);
  EXPECT_EQ(status, start_pe(library, 0, id));
  body(library, 0);
  EXPECT_EQ(0, other.wait());
}

template <class T>
T* symmetric(const Library& library, std::size_t count) {
  auto* const memory = static_cast<T*>(CALL(nvshmem_align, 512, count * sizeof(T)));
  EXPECT_EQ(cudaSuccess, cudaMemset(memory, 0, count * sizeof(T)));
  EXPECT_EQ(cudaSuccess, cudaDeviceSynchronize());
  return memory;
}

// Waits until the other process has come here, on the stream, after what it did before.
void meet(const Library& library, cudaStream_t stream) {
  CALL(nvshmemx_barrier_all_on_stream, stream);
  OK(cudaStreamSynchronize(stream));
}

/// One process can start it once, so each test runs in processes of its own: this program again.
/// True there.
bool is_process_of_its_own() {
  if (std::getenv("NVSHMEM_TEST_OF_ITS_OWN") != nullptr) return true;
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter =
      std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
  const pid_t id = fork();
  if (id == 0) {
    setenv("NVSHMEM_TEST_OF_ITS_OWN", "1", 1);
    execl("/proc/self/exe", "cuda_on_cpu_tests", "--gtest_brief=1", filter.c_str(), nullptr);
    _exit(127);
  }
  int status = -1;
  EXPECT_EQ(id, waitpid(id, &status, 0));
  EXPECT_EQ(0, status);
  return false;
}

void set(const char* order) { with({{"CUDA_ON_CPU_ORDER", order}}); }

/// By the order of work.
class NvshmemOnCpu : public testing::TestWithParam<const char*> {};

TEST_P(NvshmemOnCpu, PutsWithSignalsBothWays) {
  if (!is_process_of_its_own()) return;
  set(GetParam());
  run_two("", NVSHMEM_STATUS_IS_INITIALIZED, [](const Library& library, int pe) {
    EXPECT_EQ(pe, CALL(nvshmem_my_pe));
    EXPECT_EQ(2, CALL(nvshmem_n_pes));
    int major = 0, minor = 0, patch = 0;
    CALL(nvshmemx_vendor_get_version_info, &major, &minor, &patch);
    EXPECT_EQ(3, major);
    int* const values = symmetric<int>(library, 1000);
    auto* const signals = symmetric<std::uint64_t>(library, 2);
    int* const mine = device_copy(std::vector<int>(1000, 7 + pe));
    OK(cudaDeviceSynchronize());
    const cudaStream_t stream = new_stream();
    meet(library, stream);
    CALL(nvshmemx_putmem_signal_on_stream, values, mine, 999 * sizeof(int), signals, 5,
         NVSHMEM_SIGNAL_SET, 1 - pe, stream);
    CALL(nvshmemx_signal_op_on_stream, signals + 1, 3, NVSHMEM_SIGNAL_ADD, 1 - pe, stream);
    CALL(nvshmemx_signal_op_on_stream, signals + 1, 4, NVSHMEM_SIGNAL_ADD, 1 - pe, stream);
    CALL(nvshmemx_signal_wait_until_on_stream, signals, NVSHMEM_CMP_EQ, 5, stream);
    CALL(nvshmemx_signal_wait_until_on_stream, signals + 1, NVSHMEM_CMP_GE, 7, stream);
    OK(start(4, 256, stream, add_one, values, 999));
    OK(cudaStreamSynchronize(stream));
    std::vector<int> expected(1000, 7 + (1 - pe) + 1);
    expected[999] = 0;
    EXPECT_EQ(expected, host_copy(values, 1000));
    EXPECT_EQ((std::vector<std::uint64_t>{5, 7}), host_copy(signals, 2));
    CALL(nvshmem_free, values);
    CALL(nvshmemx_hostlib_finalize);
    EXPECT_EQ(NVSHMEM_STATUS_NOT_INITIALIZED, CALL(nvshmemx_init_status));
  });
}

// Signals rise within a batch and begin anew in the next, which an acknowledgement allows.
TEST_P(NvshmemOnCpu, GraphsAreReplayed) {
  if (!is_process_of_its_own()) return;
  set(GetParam());
  run_two("", NVSHMEM_STATUS_IS_INITIALIZED, [](const Library& library, int pe) {
    constexpr int batch = 4, replays = 1000;
    int* const value = symmetric<int>(library, 1);
    auto* const signals = symmetric<std::uint64_t>(library, 2);
    const cudaStream_t stream = new_stream();
    meet(library, stream);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (std::uint64_t step = 1; step <= batch; ++step) {
      // Each in its turn adds one and gives the number to the other.
      if (pe == 1)
        CALL(nvshmemx_signal_wait_until_on_stream, signals, NVSHMEM_CMP_GE, step, stream);
      OK(start(1, 32, stream, add_one, value, 1));
      CALL(nvshmemx_putmem_signal_on_stream, value, value, sizeof(int), signals, step,
           NVSHMEM_SIGNAL_SET, 1 - pe, stream);
      if (pe == 0)
        CALL(nvshmemx_signal_wait_until_on_stream, signals, NVSHMEM_CMP_GE, step, stream);
    }
    OK(cudaMemsetAsync(signals, 0, sizeof *signals, stream));
    CALL(nvshmemx_signal_op_on_stream, signals + 1, 1, NVSHMEM_SIGNAL_SET, 1 - pe, stream);
    CALL(nvshmemx_signal_wait_until_on_stream, signals + 1, NVSHMEM_CMP_EQ, 1, stream);
    OK(cudaMemsetAsync(signals + 1, 0, sizeof *signals, stream));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph));
    for (int replay = 0; replay < replays; ++replay) {
      OK(cudaGraphLaunch(exec, stream));
      if (replay % 100 == 99) {
        OK(cudaStreamSynchronize(stream));
      }
    }
    OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(2 * batch * replays, host_copy(value, 1)[0]);
    CALL(nvshmemx_hostlib_finalize);
  });
}

TEST_P(NvshmemOnCpu, ReducesInPlaceAndApart) {
  if (!is_process_of_its_own()) return;
  set(GetParam());
  run_two("", NVSHMEM_STATUS_IS_INITIALIZED, [](const Library& library, int pe) {
    auto* const values = symmetric<float>(library, 4);
    const float mine[2] = {1.5F + static_cast<float>(pe), 4.0F - static_cast<float>(pe)};
    OK(cudaMemcpy(values, mine, sizeof mine, cudaMemcpyHostToDevice));
    OK(cudaDeviceSynchronize());
    const cudaStream_t stream = new_stream();
    EXPECT_EQ(0, CALL(nvshmemx_float_sum_reduce_on_stream, NVSHMEM_TEAM_WORLD, values + 2, values,
                      2, stream));
    EXPECT_EQ(0, CALL(nvshmemx_float_max_reduce_on_stream, NVSHMEM_TEAM_WORLD, values, values, 2,
                      stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT_EQ((std::vector<float>{2.5F, 4.0F, 4.0F, 7.0F}), host_copy(values, 4));
    CALL(nvshmemx_hostlib_finalize);
  });
}

TEST_P(NvshmemOnCpu, KernelsWriteToTheAddressOfAnotherPe) {
  if (!is_process_of_its_own()) return;
  set(GetParam());
  run_two("", NVSHMEM_STATUS_IS_INITIALIZED, [](const Library& library, int pe) {
    int* const values = symmetric<int>(library, 100);
    const cudaStream_t stream = new_stream();
    meet(library, stream);
    auto* const there = static_cast<int*>(CALL(nvshmem_ptr, values + 10, 1 - pe));
    EXPECT_EQ(values + 10, CALL(nvshmem_ptr, values + 10, pe));
    EXPECT_EQ(nullptr, CALL(nvshmem_ptr, &pe, 1 - pe));
    OK(start(1, 32, stream, add_one, there, 30));
    meet(library, stream);
    std::vector<int> expected(100, 0);
    std::fill(expected.begin() + 10, expected.begin() + 40, 1);
    EXPECT_EQ(expected, host_copy(values, 100));
    CALL(nvshmemx_hostlib_finalize);
  });
}

INSTANTIATE_TEST_SUITE_P(Order, NvshmemOnCpu,
                         testing::Values("lazy", "eager", "random:5", "thread"));

/// Its faults, each in processes of its own.
class NvshmemOnCpuFault : public testing::TestWithParam<const char*> {};

TEST_P(NvshmemOnCpuFault, ShowsAsInTheLibrary) {
  if (!is_process_of_its_own()) return;
  const std::string fault = GetParam();
  set("eager");
  const int status = fault == "no-init"      ? NVSHMEM_STATUS_NOT_INITIALIZED
                     : fault == "shared-gpu" ? NVSHMEM_STATUS_LIMITED_MPG
                                             : NVSHMEM_STATUS_IS_INITIALIZED;
  run_two(GetParam(), status, [&](const Library& library, int pe) {
    int major = 0, minor = 0, patch = 0;
    CALL(nvshmemx_vendor_get_version_info, &major, &minor, &patch);
    EXPECT_EQ(fault == "old" ? 2 : 3, major);
    if (status == NVSHMEM_STATUS_NOT_INITIALIZED) return;
    void* const large = CALL(nvshmem_align, 512, (1 << 20) + 1);
    EXPECT_EQ(fault == "small-heap", large == nullptr);
    auto* const signals = symmetric<std::uint64_t>(library, 1);
    EXPECT_EQ(fault == "no-ptr" || fault == "hang", CALL(nvshmem_ptr, signals, 1 - pe) == nullptr);
    const cudaStream_t stream = new_stream();
    meet(library, stream);
    CALL(nvshmemx_signal_op_on_stream, signals, 1, NVSHMEM_SIGNAL_SET, 1 - pe, stream);
    meet(library, stream);
    EXPECT_EQ(fault == "hang" ? 0U : 1U, host_copy(signals, 1)[0]);
    CALL(nvshmemx_hostlib_finalize);
  });
}

INSTANTIATE_TEST_SUITE_P(Each, NvshmemOnCpuFault,
                         testing::Values("old", "no-init", "shared-gpu", "no-ptr", "hang",
                                         "small-heap"));

TEST(NvshmemOnCpuEnds, WhereSizesDiffer) {
  if (!is_process_of_its_own()) return;
  set("eager");
  run_two("", NVSHMEM_STATUS_IS_INITIALIZED, [](const Library& library, int pe) {
    // A copy of each process ends, and the process tells of it.
    const pid_t id = fork();
    if (id == 0) {
      CALL(nvshmem_align, 512, 1000 + static_cast<std::size_t>(pe));
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(id, waitpid(id, &status, 0));
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  });
}

}  // namespace
}  // namespace cuda_on_cpu::test
