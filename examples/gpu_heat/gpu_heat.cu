// SPDX-License-Identifier: Apache-2.0
// Heat on GPUs: fields in device memory, your own kernel, the halo exchange in the background.
#include <cuda_runtime.h>

#include <cstdio>

#include <halocline/halocline.hpp>

#include "../whole_number.hpp"

// One explicit step on the cells [x0, x1) x [y0, y1), in global coordinates.
__global__ void step(halocline::FieldView<const double> u, halocline::FieldView<double> next,
                     halocline::Box box) {
  const long long x = box.lower.x + blockIdx.x * blockDim.x + threadIdx.x;
  const long long y = box.lower.y + blockIdx.y;
  if (x >= box.upper.x) return;
  const double *south = u.row(y - 1), *here = u.row(y), *north = u.row(y + 1);
  const long long i = x - u.origin().x;
  next.row(y)[i] =
      here[i] + 0.2 * (((here[i - 1] + here[i + 1]) + (south[i] + north[i])) - 4 * here[i]);
}

int main(int argc, char** argv) {
  using namespace halocline;
  Runtime runtime;
  const Communicator world = Communicator::world();
  const auto sweeps = whole_number(argc > 1 ? argv[1] : "1000", 0, 1'000'000);
  if (!sweeps) {
    if (world.rank() == 0)
      std::fprintf(stderr, "usage: gpu_heat [SWEEPS], at most 10^6, not '%s'\n", argv[1]);
    return 2;
  }
  try {
    bind_gpu(world);  // one GPU for each rank
    cudaStream_t native = nullptr;
    cudaStreamCreate(&native);
    const Stream stream = Stream::cuda(native);

    const Grid grid(world, {.cells = {512, 512}, .periodic = {true, true}});
    const FieldOptions options{.name = "u", .memory = Memory::device};  // zeroed
    const Field<double> levels[2] = {Field<double>(grid, options), Field<double>(grid, options)};
    const Box owned = grid.owned();
    const auto device_cell = [&](Int3 cell) {  // an address for cudaMemcpy, not for the host
      return &levels[0](cell.x, cell.y);
    };
    const double hot = 1000;
    if (owned.contains(Int3{100, 100, 0}))
      cudaMemcpy(device_cell({100, 100, 0}), &hot, sizeof hot, cudaMemcpyHostToDevice);

    const auto sweep = [&](const Field<double>& u, const Field<double>& next, const Box& box) {
      cudaLaunchConfig_t shape{};  // as <<<>>>, but for every compiler
      shape.gridDim = dim3(static_cast<unsigned>((box.extent().x + 255) / 256),
                           static_cast<unsigned>(box.extent().y));
      shape.blockDim = dim3(256);
      shape.stream = native;
      cudaLaunchKernelEx(&shape, step, u.view(), next.view(), box);
    };
    LevelExchange halos(world, grid, {{levels[0]}, {levels[1]}});
    for (long long s = 0; s < *sweeps; ++s) {
      halos.start(s % 2, stream);                                // after what is in the stream
      sweep(levels[s % 2], levels[1 - s % 2], grid.interior());  // needs no halo
      halos.finish(stream);
      for (const Box& box : grid.boundary()) sweep(levels[s % 2], levels[1 - s % 2], box);
    }
    double value = 0;
    cudaStreamSynchronize(native);
    if (owned.contains(Int3{100, 100, 0})) {
      cudaMemcpy(&value, device_cell({100, 100, 0}), sizeof value, cudaMemcpyDeviceToHost);
      std::printf("u(100, 100) = %.12f\n", value);
    }
    return 0;
  } catch (const Error& error) {
    if (world.rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    return error.kind() == ErrorKind::unavailable ? 3 : 4;
  }
}
