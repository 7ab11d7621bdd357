// SPDX-License-Identifier: Apache-2.0
// Averages of four neighbours, for programs that drive a kernel of their own: bench_gpu_jacobi
// compiles it with nvcc, bench/python_jacobi with CuPy. u and v point at the first owned cell; rows
// are `pitch` values apart and begin at multiples of 16 bytes, nx is a multiple of 4. A thread has
// four columns and walks up `rows` rows.
extern "C" __global__ void jacobi(const float* u, float* v, int nx, int ny, int pitch, int rows) {
  const int x = 4 * (blockIdx.x * blockDim.x + threadIdx.x), first = blockIdx.y * rows;
  if (x >= nx) return;
  const float* at = u + (long long)first * pitch + x;
  float* out = v + (long long)first * pitch + x;
  float4 south = *(const float4*)(at - pitch), here = *(const float4*)at;
  const int end = min(first + rows, ny);
#pragma unroll 4
  for (int y = first; y < end; ++y, at += pitch, out += pitch) {
    const float4 north = *(const float4*)(at + pitch);
    const float west = at[-1], east = at[4];
    *(float4*)out = make_float4(0.25f * ((west + here.y) + (south.x + north.x)),
                                0.25f * ((here.x + here.z) + (south.y + north.y)),
                                0.25f * ((here.y + here.w) + (south.z + north.z)),
                                0.25f * ((here.z + east) + (south.w + north.w)));
    south = here;
    here = north;
  }
}
