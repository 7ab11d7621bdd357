// SPDX-License-Identifier: Apache-2.0
// saxpy on one GPU, its result sent to another rank: correctly, and before the GPU has computed it.
#include <mpi.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include "../gpu.cuh"
#include "../whole_number.hpp"

constexpr float a = 2;
constexpr float old = -1;  // what the memory to send holds before

// Small whole numbers: exact in fp32.
__host__ __device__ float x_of(long long i) { return static_cast<float>(i % 1000); }
__host__ __device__ float y_of(long long i) { return static_cast<float>(i % 7); }

__global__ void fill(float* x, float* y, long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i] = x_of(i);
  y[i] = y_of(i);
}
__global__ void saxpy(const float* x, float* y, long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// As kernel<<<blocks, threads, 0, stream>>>(...), but for every compiler.
template <class... Parameters, class... Arguments>
void launch(long long n, cudaStream_t stream, void (*kernel)(Parameters...),
            Arguments... arguments) {
  cudaLaunchConfig_t shape{};
  shape.gridDim = dim3(static_cast<unsigned>((n + 255) / 256));
  shape.blockDim = dim3(256);
  shape.stream = stream;
  check(cudaLaunchKernelEx(&shape, kernel, arguments...), "launching a kernel");
}

enum class Before_send { synchronise, do_nothing };

// Computes on the GPU, copies to pinned memory, sends. All calls but the marked one return at once:
// they only queue work. MPI knows nothing of streams and sends the bytes as they are.
void compute_and_send(long long n, Before_send before_send) {
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(float);
  cudaStream_t stream;
  float *x, *y, *to_send;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  check(cudaMalloc(&x, bytes), "memory for x");
  check(cudaMalloc(&y, bytes), "memory for y");
  check(cudaMallocHost(&to_send, bytes), "pinned memory");
  for (long long i = 0; i < n; ++i) to_send[i] = old;

  // A GPU that is busy with something else for 50 ms, so that the fault shows every time.
  check(cudaLaunchHostFunc(
            stream, [](void*) { usleep(50000); }, nullptr),
        "being busy");
  launch(n, stream, fill, x, y, n);
  launch(n, stream, saxpy, x, y, n);
  check(cudaMemcpyAsync(to_send, y, bytes, cudaMemcpyDeviceToHost, stream), "copying y");
  if (before_send == Before_send::synchronise)
    check(cudaStreamSynchronize(stream), "saxpy");  // waits until all of the above is done
  MPI_Send(to_send, static_cast<int>(n), MPI_FLOAT, 1, 0, MPI_COMM_WORLD);

  check(cudaStreamSynchronize(stream), "the end");
  check(cudaFreeHost(to_send), "freeing");
  check(cudaFree(x), "freeing");
  check(cudaFree(y), "freeing");
  check(cudaStreamDestroy(stream), "freeing");
}

void compute_and_send_on_host(long long n) {
  std::vector<float> y(static_cast<std::size_t>(n));
  for (long long i = 0; i < n; ++i) y[static_cast<std::size_t>(i)] = a * x_of(i) + y_of(i);
  MPI_Send(y.data(), static_cast<int>(n), MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
}

// Compares every value with the formula, and says how many are not what was computed.
long long receive_and_check(long long n, const char* how) {
  std::vector<float> y(static_cast<std::size_t>(n));
  MPI_Recv(y.data(), static_cast<int>(n), MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  long long wrong = 0, of_before = 0;
  for (long long i = 0; i < n; ++i) {
    const float value = y[static_cast<std::size_t>(i)];
    wrong += value != a * x_of(i) + y_of(i);
    of_before += value == old;
  }
  std::printf("%s: %lld of %lld values wrong", how, wrong, n);
  if (wrong > 0) std::printf(", %lld of them from before the kernel", of_before);
  std::printf("\n");
  return wrong;
}

int main(int argc, char** argv) {
  alarm(60);  // nothing here runs for longer
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto n = whole_number(argc > 1 ? argv[1] : "1000000", 1, 100'000'000);
  if (ranks != 2 || !n) {
    if (rank == 0) std::fprintf(stderr, "usage: saxpy [N], N from 1 to 10^8, on 2 ranks\n");
    MPI_Finalize();
    return 2;
  }
  long long wrong = 0;
  if (!take_gpu()) {
    if (rank == 0)
      compute_and_send_on_host(*n);
    else
      wrong = receive_and_check(*n, "no GPU here: on the host, which needs no stream");
  } else if (rank == 0) {
    compute_and_send(*n, Before_send::synchronise);
    compute_and_send(*n, Before_send::do_nothing);
  } else {
    wrong = receive_and_check(*n, "stream synchronised before MPI_Send");
    const long long seen = receive_and_check(*n, "not synchronised");
    if (seen == 0) std::printf("right by luck: the GPU was faster than MPI this time\n");
  }
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
