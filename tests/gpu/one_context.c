// SPDX-License-Identifier: Apache-2.0
// Shows that directives use the CUDA context that halocline_bind_device makes current, for memory
// and for queues: with a second one, Halocline's memory and streams would mean nothing to them.
// Exits with 0 if so, 1 if not, 3 where there is no GPU or no compiler of directives for it.
//   one_context_MODEL [late]
// late: binds after the first directive, as nobody should, and must end with 1.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENACC
#include <openacc.h>
#else
#include <omp.h>
#endif

#include <halocline/halocline.h>

static void check(halocline_status status) {
  if (status == HALOCLINE_OK) return;
  fprintf(stderr, "%s\n", halocline_last_error());
  MPI_Abort(MPI_COMM_WORLD, 4);
}

static void skip(const char* why) {
  printf("skipped: %s\n", why);
  MPI_Finalize();
  exit(3);
}

// The context of a GPU's address; the driver's cuPointerGetAttribute, attribute 1.
static void* context_of(void* driver, const void* address) {
  int (*get)(void*, int, unsigned long long) =
      (int (*)(void*, int, unsigned long long))dlsym(driver, "cuPointerGetAttribute");
  void* context = NULL;
  return get(&context, 1, (unsigned long long)address) == 0 ? context : NULL;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int world = MPI_Comm_c2f(MPI_COMM_WORLD);
  const int late = argc > 1 && strcmp(argv[1], "late") == 0;
  halocline_device_info gpu = HALOCLINE_DEVICE_INFO;
  if (late)
    gpu.ordinal = 0;
  else if (halocline_bind_device(world, &gpu) != HALOCLINE_OK)
    skip(halocline_last_error());
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) skip("there is no driver");

#ifdef _OPENACC
  if (acc_get_num_devices(acc_device_nvidia) <= gpu.ordinal) skip("OpenACC sees no GPU");
  acc_set_device_num(gpu.ordinal, acc_device_nvidia);
  void* const theirs = acc_malloc(256);
#else
  if (omp_get_num_devices() <= gpu.ordinal) skip("OpenMP sees no GPU");
  omp_set_default_device(gpu.ordinal);
  void* const theirs = omp_target_alloc(256, gpu.ordinal);
#endif

  if (late) check(halocline_bind_device(world, &gpu));
  halocline_grid_options one_cell_each = HALOCLINE_GRID_OPTIONS;
  MPI_Comm_size(MPI_COMM_WORLD, &gpu.ranks_on_gpu);
  one_cell_each.cells[0] = gpu.ranks_on_gpu;
  halocline_grid* grid;
  check(halocline_grid_create(world, &one_cell_each, &grid));
  halocline_field_options on_gpu = HALOCLINE_FIELD_OPTIONS;
  on_gpu.memory = "device";
  halocline_field* field;
  check(halocline_field_create(grid, &on_gpu, &field));
  halocline_field_info info = HALOCLINE_FIELD_INFO;
  check(halocline_field_get_info(field, &info));

  void* const ours = context_of(driver, info.first);
  int same = ours != NULL && context_of(driver, theirs) == ours;
  printf("memory: %s context\n", same ? "one" : "more than one");
#ifdef _OPENACC
  int (*get)(void*, void**) = (int (*)(void*, void**))dlsym(driver, "cuStreamGetCtx");
  void* of_queue = NULL;
  if (get(acc_get_cuda_stream(1), &of_queue) != 0 || of_queue != ours) same = 0;
  printf("queue: %s context\n", of_queue == ours ? "the same" : "another");
  acc_free(theirs);
#else
  omp_target_free(theirs, gpu.ordinal);
#endif
  check(halocline_field_destroy(&field));
  check(halocline_grid_destroy(&grid));
  MPI_Finalize();
  return same ? 0 : 1;
}
