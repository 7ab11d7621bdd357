// SPDX-License-Identifier: Apache-2.0
#pragma once
// CUDA's small vectors, with CUDA's sizes and alignments.

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

#define CUDA_ON_CPU_VECTOR2(name, type)   \
  struct alignas(2 * sizeof(type)) name { \
    type x, y;                            \
  };                                      \
  constexpr name make_##name(type x, type y) { return {x, y}; }
#define CUDA_ON_CPU_VECTOR3(name, type) \
  struct name {                         \
    type x, y, z;                       \
  };                                    \
  constexpr name make_##name(type x, type y, type z) { return {x, y, z}; }
#define CUDA_ON_CPU_VECTOR4(name, type) \
  struct alignas(16) name {             \
    type x, y, z, w;                    \
  };                                    \
  constexpr name make_##name(type x, type y, type z, type w) { return {x, y, z, w}; }

CUDA_ON_CPU_VECTOR2(int2, int)
CUDA_ON_CPU_VECTOR2(uint2, unsigned)
CUDA_ON_CPU_VECTOR2(float2, float)
CUDA_ON_CPU_VECTOR2(double2, double)
CUDA_ON_CPU_VECTOR2(longlong2, long long)
CUDA_ON_CPU_VECTOR2(ulonglong2, unsigned long long)
CUDA_ON_CPU_VECTOR3(int3, int)
CUDA_ON_CPU_VECTOR3(float3, float)
CUDA_ON_CPU_VECTOR3(double3, double)
CUDA_ON_CPU_VECTOR4(int4, int)
CUDA_ON_CPU_VECTOR4(uint4, unsigned)
CUDA_ON_CPU_VECTOR4(float4, float)

constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

#undef CUDA_ON_CPU_VECTOR2
#undef CUDA_ON_CPU_VECTOR3
#undef CUDA_ON_CPU_VECTOR4
