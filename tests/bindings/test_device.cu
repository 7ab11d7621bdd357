// SPDX-License-Identifier: Apache-2.0
// The C binding with memory of GPUs: binding, wrapped device pointers, exchanges on a stream and on
// none.
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <halocline/halocline.h>

#include "checks.h"

namespace {

#define CUDA_OK(call) CHECK((call) == cudaSuccess)

/// A rank's part of a field that is periodic along y, and where it lies.
struct Part {
  double* first;  // the first held cell; halo 1
  long long row;
  long long x0, y0, nx, ny;  // owned
  long long cells_x, cells_y;
};

__host__ __device__ double value_of(const Part& part, long long x, long long y, int step) {
  y = (y + part.cells_y) % part.cells_y;
  return static_cast<double>((step * part.cells_y + y) * part.cells_x + x);
}

/// Gives owned cells their values and all others -1.
__global__ void fill(Part part, int step) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const long long width = part.nx + 2, x = i % width - 1, y = i / width - 1;
  if (y > part.ny) return;
  const bool owned = x >= 0 && x < part.nx && y >= 0 && y < part.ny;
  part.first[(y + 1) * part.row + x + 1] =
      owned ? value_of(part, part.x0 + x, part.y0 + y, step) : -1;
}

/// Counts held cells that are not as after an exchange.
__global__ void count_wrong(Part part, int step, unsigned long long* wrong) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const long long width = part.nx + 2, x = i % width - 1, y = i / width - 1;
  if (y > part.ny) return;
  const bool somebodys = part.x0 + x >= 0 && part.x0 + x < part.cells_x;
  const double expected = somebodys ? value_of(part, part.x0 + x, part.y0 + y, step) : -1;
  if (part.first[(y + 1) * part.row + x + 1] != expected) atomicAdd(wrong, 1ull);
}

template <class... Params>
void launch(void (*kernel)(Params...), const Part& part, cudaStream_t stream, Params... arguments) {
  cudaLaunchConfig_t config{};
  config.blockDim = dim3(128);
  config.gridDim = dim3(static_cast<unsigned>(((part.nx + 2) * (part.ny + 2) + 127) / 128));
  config.stream = stream;
  CUDA_OK(cudaLaunchKernelEx(&config, kernel, arguments...));
}

halocline_grid* make_grid(halocline_grid_info& info) {
  halocline_grid_options options = HALOCLINE_GRID_OPTIONS;
  options.cells[0] = 61;
  options.cells[1] = 37;
  options.periodic[1] = 1;
  options.wait_limit = 60;
  halocline_grid* grid = nullptr;
  OK(halocline_grid_create(MPI_Comm_c2f(MPI_COMM_WORLD), &options, &grid));
  OK(halocline_grid_get_info(grid, &info));
  return grid;
}

Part part_of(const halocline_grid_info& info) {
  Part part{};
  part.x0 = info.owned.lower[0];
  part.y0 = info.owned.lower[1];
  part.nx = info.owned.upper[0] - part.x0;
  part.ny = info.owned.upper[1] - part.y0;
  part.cells_x = info.cells[0];
  part.cells_y = info.cells[1];
  part.row = part.nx + 5;
  return part;
}

/// Wraps memory of CUDA's, and exchanges it ordered by a stream alone, or by nothing but the host.
void fills_halos(const char* memory, cudaStream_t stream) {
  halocline_grid_info info = HALOCLINE_GRID_INFO;
  halocline_grid* grid = make_grid(info);
  Part part = part_of(info);
  const auto bytes = static_cast<std::size_t>(part.row * (part.ny + 2)) * sizeof(double);
  const bool on_device = std::strcmp(memory, "device") == 0;
  if (on_device)
    CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&part.first), bytes));
  else if (std::strcmp(memory, "managed") == 0)
    CUDA_OK(cudaMallocManaged(reinterpret_cast<void**>(&part.first), bytes));
  else
    CUDA_OK(cudaMallocHost(reinterpret_cast<void**>(&part.first), bytes));
  unsigned long long *wrong = nullptr, seen = 0;
  CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&wrong), sizeof *wrong));
  CUDA_OK(cudaMemset(wrong, 0, sizeof *wrong));

  halocline_field_options options = HALOCLINE_FIELD_OPTIONS;
  options.element_bytes = sizeof(double);
  options.halo = {{1, 1, 0}, {1, 1, 0}};
  options.memory = memory;
  options.extents[0] = part.row;
  halocline_field* field = nullptr;
  OK(halocline_field_wrap(grid, part.first, &options, &field));
  halocline_exchange* exchange = nullptr;
  OK(halocline_exchange_create(grid, &field, 1, nullptr, &exchange));
  for (int step = 0; step < 5; ++step) {
    launch(fill, part, stream, part, step);
    if (stream == nullptr) CUDA_OK(cudaDeviceSynchronize());
    if (step == 4) {
      OK(halocline_exchange_run(exchange, stream));
    } else {
      OK(halocline_exchange_start(exchange, stream));
      OK(halocline_exchange_progress(exchange, nullptr));
      OK(halocline_exchange_finish(exchange, stream));
    }
    launch(count_wrong, part, stream, part, step, wrong);
    if (stream == nullptr) CUDA_OK(cudaDeviceSynchronize());
  }
  CUDA_OK(cudaStreamSynchronize(stream));
  CUDA_OK(cudaMemcpy(&seen, wrong, sizeof seen, cudaMemcpyDeviceToHost));
  if (seen != 0) std::fprintf(stderr, "%s memory: %llu cells are wrong\n", memory, seen);
  CHECK(seen == 0);
  OK(halocline_exchange_destroy(&exchange));
  OK(halocline_field_destroy(&field));
  OK(halocline_grid_destroy(&grid));
  if (on_device || std::strcmp(memory, "managed") == 0)
    CUDA_OK(cudaFree(part.first));
  else
    CUDA_OK(cudaFreeHost(part.first));
  CUDA_OK(cudaFree(wrong));
}

/// Noise, checksum and sum of device memory are those of host memory.
void measures_device_memory() {
  halocline_grid_info info = HALOCLINE_GRID_INFO;
  halocline_grid* grid = make_grid(info);
  std::uint64_t checksums[2] = {0, 1};
  double sums[2] = {0, 1};
  const char* memories[2] = {"host", "device"};
  for (int m = 0; m < 2; ++m) {
    halocline_field_options options = HALOCLINE_FIELD_OPTIONS;
    options.memory = memories[m];
    options.element_bytes = 4;
    halocline_field* field = nullptr;
    OK(halocline_field_create(grid, &options, &field));
    OK(halocline_field_noise(field, 7));
    OK(halocline_field_checksum(field, &checksums[m]));
    OK(halocline_field_sum(field, &sums[m]));
    halocline_exchange* exchange = nullptr;
    OK(halocline_exchange_create(grid, &field, 1, nullptr, &exchange));
    halocline_report_options report = HALOCLINE_REPORT_OPTIONS;
    report.text = "/dev/null";
    OK(halocline_report_write(field, exchange, &report));
    OK(halocline_exchange_destroy(&exchange));
    OK(halocline_field_destroy(&field));
  }
  CHECK(checksums[0] == checksums[1]);
  CHECK(sums[0] == sums[1]);
  OK(halocline_grid_destroy(&grid));
}

/// The driver has one context of this process: the primary one of the GPU it was bound to, current.
/// Where CUDA runs on the host there is no driver to ask.
void leaves_one_context(int ordinal) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return;
  using State = int(int, unsigned*, int*);
  using Current = int(void**);
  using Retain = int(void**, int);
  using Release = int(int);
  const auto state = reinterpret_cast<State*>(dlsym(driver, "cuDevicePrimaryCtxGetState"));
  const auto current = reinterpret_cast<Current*>(dlsym(driver, "cuCtxGetCurrent"));
  const auto retain = reinterpret_cast<Retain*>(dlsym(driver, "cuDevicePrimaryCtxRetain"));
  const auto release = reinterpret_cast<Release*>(dlsym(driver, "cuDevicePrimaryCtxRelease_v2"));
  CHECK(state != nullptr && current != nullptr && retain != nullptr && release != nullptr);
  if (failures > 0) return;
  int count = 0;
  CUDA_OK(cudaGetDeviceCount(&count));
  for (int device = 0; device < count; ++device) {
    unsigned flags = 0;
    int active = -1;
    CHECK(state(device, &flags, &active) == 0);
    CHECK(active == (device == ordinal ? 1 : 0));
  }
  void *now = nullptr, *primary = nullptr;
  CHECK(current(&now) == 0);
  CHECK(retain(&primary, ordinal) == 0);
  CHECK(now != nullptr && now == primary);
  CHECK(release(ordinal) == 0);
  std::printf("rank %d: one context, the primary one of GPU %d\n", rank, ordinal);
}

void run() {
  halocline_device_info device = HALOCLINE_DEVICE_INFO;
  device.struct_size = 3;
  CHECK(halocline_bind_device(MPI_Comm_c2f(MPI_COMM_WORLD), &device) == HALOCLINE_USAGE);
  device.struct_size = sizeof device;
  OK(halocline_bind_device(MPI_Comm_c2f(MPI_COMM_WORLD), &device));
  CHECK(device.ordinal >= 0 && device.ranks_on_gpu >= 1 && device.name[0] != '\0' &&
        std::strncmp(device.uuid, "GPU-", 4) == 0);
  leaves_one_context(device.ordinal);
  cudaStream_t stream = nullptr;
  CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (const char* memory : {"device", "managed", "pinned"}) {
    fills_halos(memory, stream);
    fills_halos(memory, nullptr);
  }
  measures_device_memory();
  leaves_one_context(device.ordinal);
  CUDA_OK(cudaStreamDestroy(stream));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* required = std::getenv("HALOCLINE_REQUIRE");
  if (halocline_bind_device(MPI_Comm_c2f(MPI_COMM_WORLD), nullptr) == HALOCLINE_UNAVAILABLE &&
      (required == nullptr || std::strstr(required, "gpu") == nullptr)) {
    if (rank == 0) std::printf("skipped: %s\n", halocline_last_error());
    MPI_Finalize();
    return 0;
  }
  run();
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) std::printf("the C binding works on GPUs of %d ranks\n", ranks);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
