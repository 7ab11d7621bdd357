// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the programs here do with CUDA before they use it.

#include <cuda_runtime.h>
#include <mpi.h>

#include <cstdio>

/// Ends the job, with what failed in words, unless a call of CUDA's went well.
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  MPI_Abort(MPI_COMM_WORLD, 4);
}

/// Gives this rank one of its node's GPUs, in turn. False, on all ranks, if one of them sees none.
/// Collective.
inline bool take_gpu() {
  MPI_Comm node;
  int place, gpus = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &place);
  MPI_Comm_free(&node);
  // A node may have more ranks than GPUs, or its launcher may show each rank one GPU only.
  int there = cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 0;
  MPI_Allreduce(MPI_IN_PLACE, &there, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (there) check(cudaSetDevice(place % gpus), "taking a GPU");
  return there;
}
