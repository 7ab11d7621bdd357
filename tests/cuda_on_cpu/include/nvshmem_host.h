// SPDX-License-Identifier: Apache-2.0
#pragma once
// NVSHMEM's host calls, as far as libraries/nvshmem.cpp stands for them, with the names, values and
// layouts of version 3.

#include <cstddef>
#include <cstdint>

#include "cuda_runtime_api.h"

extern "C" {

struct nvshmemx_uniqueid_t {
  int version;
  char internal[124];
};

struct nvshmemx_uniqueid_args_t {
  int version;
  nvshmemx_uniqueid_t* id;
  int myrank, nranks;
};

struct nvshmemx_init_args_t {
  int version;
  nvshmemx_uniqueid_args_t uid_args;
  char content[96];
};

struct nvshmemx_init_attr_t {
  int version;
  void* mpi_comm;
  nvshmemx_init_args_t args;
};

static_assert(sizeof(nvshmemx_uniqueid_t) == 128 && sizeof(nvshmemx_uniqueid_args_t) == 24 &&
              sizeof(nvshmemx_init_args_t) == 128 && sizeof(nvshmemx_init_attr_t) == 144);

// A structure's first word: 1 in its upper half, its size in the lower.
#define NVSHMEMX_UNIQUEID_INITIALIZER                             \
  {                                                               \
    (1 << 16) + static_cast<int>(sizeof(nvshmemx_uniqueid_t)), {} \
  }
#define NVSHMEMX_UNIQUEID_ARGS_INITIALIZER \
  { (1 << 16) + static_cast<int>(sizeof(nvshmemx_uniqueid_args_t)), nullptr, -1, -1 }
#define NVSHMEMX_INIT_ARGS_INITIALIZER                          \
  {                                                             \
    (1 << 16) + static_cast<int>(sizeof(nvshmemx_init_args_t)), \
        NVSHMEMX_UNIQUEID_ARGS_INITIALIZER, {}                  \
  }
#define NVSHMEMX_INIT_ATTR_INITIALIZER                                   \
  {                                                                      \
    (1 << 16) + static_cast<int>(sizeof(nvshmemx_init_attr_t)), nullptr, \
        NVSHMEMX_INIT_ARGS_INITIALIZER                                   \
  }

enum { NVSHMEMX_INIT_WITH_UNIQUEID = 8 };
enum {
  NVSHMEM_STATUS_NOT_INITIALIZED = 0,
  NVSHMEM_STATUS_IS_INITIALIZED = 2,
  NVSHMEM_STATUS_LIMITED_MPG = 3  // several PEs on a GPU
};
enum {
  NVSHMEM_CMP_EQ,
  NVSHMEM_CMP_NE,
  NVSHMEM_CMP_GT,
  NVSHMEM_CMP_LE,
  NVSHMEM_CMP_LT,
  NVSHMEM_CMP_GE
};
enum { NVSHMEM_SIGNAL_SET = 9, NVSHMEM_SIGNAL_ADD = 10 };
enum { NVSHMEM_TEAM_WORLD = 0 };
using nvshmem_team_t = std::int32_t;

int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t* id);
int nvshmemx_set_attr_uniqueid_args(int rank, int ranks, const nvshmemx_uniqueid_t* id,
                                    nvshmemx_init_attr_t* attr);
/// Returns 0 also if it fails: nvshmemx_init_status() knows.
int nvshmemx_hostlib_init_attr(unsigned flags, nvshmemx_init_attr_t* attr);
int nvshmemx_init_status();
void nvshmemx_hostlib_finalize();
void nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch);
int nvshmem_my_pe();
int nvshmem_n_pes();

// Collective.
void* nvshmem_align(std::size_t alignment, std::size_t size);
void nvshmem_free(void* memory);

void* nvshmem_ptr(const void* memory, int pe);

void nvshmemx_putmem_signal_on_stream(void* to, const void* from, std::size_t bytes,
                                      std::uint64_t* signal_word, std::uint64_t signal,
                                      int operation, int pe, cudaStream_t stream);
void nvshmemx_signal_op_on_stream(std::uint64_t* signal_word, std::uint64_t signal, int operation,
                                  int pe, cudaStream_t stream);
void nvshmemx_signal_wait_until_on_stream(std::uint64_t* signal_word, int comparison,
                                          std::uint64_t value, cudaStream_t stream);
void nvshmemx_quiet_on_stream(cudaStream_t stream);

// Collective, in the order of the stream.
void nvshmemx_barrier_all_on_stream(cudaStream_t stream);
int nvshmemx_float_sum_reduce_on_stream(nvshmem_team_t team, float* to, const float* from,
                                        std::size_t count, cudaStream_t stream);
int nvshmemx_float_max_reduce_on_stream(nvshmem_team_t team, float* to, const float* from,
                                        std::size_t count, cudaStream_t stream);
}
