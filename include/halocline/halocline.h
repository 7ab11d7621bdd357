// SPDX-License-Identifier: Apache-2.0
#ifndef HALOCLINE_HALOCLINE_H
#define HALOCLINE_HALOCLINE_H
/* Halocline for C: halos between the ranks of a structured-grid code. Include it as
 * <halocline/halocline.h>; it needs no mpi.h and no CUDA header. The Fortran module `halocline`
 * offers the same in Fortran.
 *
 * Every call returns a status; none prints, exits or aborts. _create and _wrap make handles, and
 * _destroy destroys them, in any order, but the same on all ranks and before MPI is finalised: each
 * handle keeps what it needs. After MPI_Finalize _destroy frees memory but makes no MPI call, and
 * calls that communicate return usage. All ranks of the grid make the calls marked collective, in
 * the same order. Cells have global coordinates from 0 up, x first; along the axes that a grid
 * lacks, coordinates are 0 and extents 1.
 *
 * Threads. Only one thread at a time may be inside Halocline, whichever handles it uses: a second
 * one is refused (usage), as are all calls in a process forked from one that has made some. Any
 * thread may make at any time those of status, _get_info, _neighbour, _interior and _boundary,
 * halocline_grid_destroy as long as the original communicator exists, and halocline_exchange_park.
 * Make the others, which communicate, from a thread that MPI allows: with MPI_THREAD_FUNNELED the
 * one that initialised MPI, with MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE any. A thread that
 * uses fields in GPU memory must have made that GPU current; halocline_bind_device does so for the
 * thread that calls it. Any thread may read and write the values of fields at any time; the program
 * orders accesses to the same cells. halocline_last_error is about the calling thread. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ---- */

typedef enum halocline_status {
  HALOCLINE_OK = 0,
  HALOCLINE_USAGE = 1,         /* the request is invalid */
  HALOCLINE_UNAVAILABLE = 2,   /* valid, but not available on this machine or in this build */
  HALOCLINE_RESOURCE = 3,      /* memory, disk or files ran out */
  HALOCLINE_COMMUNICATION = 4, /* MPI failed, or a peer did not answer within the wait limit */
  HALOCLINE_DEVICE = 5,        /* a GPU or its driver failed */
  HALOCLINE_INTERNAL = 6       /* a bug in Halocline */
} halocline_status;

/* Returns the error message of the calling thread's last failed call: the problem, with values, and
 * a fix. Empty if no call failed. Valid until the thread's next failed call. */
const char* halocline_last_error(void);

/* Returns the name of a status: "ok", "usage", ... */
const char* halocline_status_name(halocline_status status);

/* Returns the version of the library, "0.1.0". */
const char* halocline_version(void);

/* ---- cells ---- */

/* The cells from `lower` up to, not including, `upper`. */
typedef struct halocline_box {
  int64_t lower[3], upper[3];
} halocline_box;

/* Widths in cells, per axis, on the lower and the upper side. */
typedef struct halocline_widths {
  int64_t lower[3], upper[3];
} halocline_widths;

/* In the halo of a field and in a reach: the width that the grid's options expect there. */
#define HALOCLINE_AS_EXPECTED (-INT64_MAX)

/* Options begin with their size, so that a program keeps working with a later library that has more
 * options; those that the program lacks have their defaults. Initialise them with the macro of the
 * same name, then change members:
 *     halocline_grid_options options = HALOCLINE_GRID_OPTIONS;
 *     options.cells[0] = 1024; */

/* ---- grid ---- */

/* A global box of cells split over the ranks of a communicator. */
typedef struct halocline_grid halocline_grid;

typedef struct halocline_grid_options {
  size_t struct_size;
  int64_t cells[3];        /* of the whole domain; 0 along the axes that the grid lacks */
  int periodic[3];         /* not 0: the axis is periodic */
  int64_t process_grid[3]; /* parts per axis; all 0: the split with the least halo traffic */
  int64_t expected_halo; /* halo width, in cells, that this choice assumes; also the halo of fields
                            and the reach of sweeps that are given none */
  double wait_limit;     /* seconds; a longer wait for a peer is an error; 0: no limit */
  const halocline_widths* expected_widths; /* the halo of each axis and side instead of
                                              expected_halo; null: that everywhere */
} halocline_grid_options;

#define HALOCLINE_GRID_OPTIONS \
  { sizeof(halocline_grid_options), {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 1, 120.0, NULL }

/* Splits the cells over the ranks of `communicator`, the Fortran handle of an MPI communicator
 * (MPI_Comm_c2f). Its grids with the same wait limit, which is the same on all ranks, share a
 * duplicate of it, which lives as long as it does; the caller still owns and frees the original.
 * MPI must be running. Collective. Usage if a part would be empty or the process grid does not
 * match the ranks. */
halocline_status halocline_grid_create(int communicator, const halocline_grid_options* options,
                                       halocline_grid** grid);
/* Destroys a grid and sets the handle to null. Does nothing for a null handle. Not collective as
 * long as the original communicator exists. */
halocline_status halocline_grid_destroy(halocline_grid** grid);

typedef struct halocline_grid_info {
  size_t struct_size;
  int rank, ranks, axes;
  int64_t cells[3], process_grid[3];
  int64_t place[3];    /* of this rank in the process grid */
  halocline_box owned; /* the cells this rank updates */
} halocline_grid_info;

#define HALOCLINE_GRID_INFO                                                  \
  {                                                                          \
    sizeof(halocline_grid_info), 0, 0, 0, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, { \
      {0, 0, 0}, { 0, 0, 0 }                                                 \
    }                                                                        \
  }

halocline_status halocline_grid_get_info(const halocline_grid* grid, halocline_grid_info* info);

/* Finds the neighbour in a direction, each component -1, 0 or 1. `rank` gets -1 at the edge of the
 * domain, and this rank itself where a periodic axis has one part. */
halocline_status halocline_grid_neighbour(const halocline_grid* grid, const int direction[3],
                                          int* rank);

/* Finds the owned cells that can be updated before the halo arrives: every neighbour within `reach`
 * (null: the expected halo) is owned too or lies beyond an edge of the domain where no rank is. */
halocline_status halocline_grid_interior(const halocline_grid* grid, const halocline_widths* reach,
                                         halocline_box* interior);

/* The most boxes that halocline_grid_boundary finds. */
#define HALOCLINE_BOUNDARY_BOXES 6
/* Finds the other owned cells, as `count` disjoint boxes, to update after the halo arrived. */
halocline_status halocline_grid_boundary(const halocline_grid* grid, const halocline_widths* reach,
                                         halocline_box boxes[HALOCLINE_BOUNDARY_BOXES], int* count);

/* ---- field ---- */

/* Values on the cells of a rank and on the halo around them. */
typedef struct halocline_field halocline_field;

typedef struct halocline_field_options {
  size_t struct_size;
  const char* name;         /* used in error texts; the same on every rank */
  int64_t element_bytes;    /* of one value, which must be set: sizeof(double) */
  int64_t components;       /* values per cell */
  halocline_widths halo;    /* cells held around the owned ones */
  const char* memory;       /* "host", "pinned", "device", "managed" or "system"; "auto": what
                               CUDA says of a wrapped array */
  int64_t extents[3];       /* of a wrapped array along x, y, z, in cells; 0: owned and halo */
  int64_t strides[3];       /* of a wrapped array, in elements between adjacent cells along x, y, z;
                               0: x is fastest, then y, then z, without gaps */
  int64_t component_stride; /* in elements; 0: the components of a cell are adjacent */
} halocline_field_options;

#define HALOCLINE_FIELD_OPTIONS                                                  \
  {                                                                              \
    sizeof(halocline_field_options), "field", 0, 1,                              \
        {{HALOCLINE_AS_EXPECTED, HALOCLINE_AS_EXPECTED, HALOCLINE_AS_EXPECTED},  \
         {HALOCLINE_AS_EXPECTED, HALOCLINE_AS_EXPECTED, HALOCLINE_AS_EXPECTED}}, \
        "host", {0, 0, 0}, {0, 0, 0}, 0                                          \
  }

/* Allocates a field, all bytes zero. Device memory is on the current GPU. Usage for invalid
 * options, unavailable if this machine lacks the memory, resource if it runs out. */
halocline_status halocline_field_create(const halocline_grid* grid,
                                        const halocline_field_options* options,
                                        halocline_field** field);
/* Wraps the caller's memory, which must outlive the field and its exchanges, unless each call names
 * the arrays (halocline_exchange_run_at): `first` is the address of the first cell of the array,
 * halo included. For memory "device" it is the address on the GPU, as from OpenACC's host_data
 * use_device or OpenMP's use_device_ptr. Usage if the array is too small for the owned cells and
 * the halo, or larger and the options give no halo, or if with its strides two values share an
 * element. */
halocline_status halocline_field_wrap(const halocline_grid* grid, void* first,
                                      const halocline_field_options* options,
                                      halocline_field** field);
/* Destroys a field and sets the handle to null. Does nothing for a null handle. Memory that the
 * field allocated is freed when its last exchange is destroyed too. */
halocline_status halocline_field_destroy(halocline_field** field);

typedef struct halocline_field_info {
  size_t struct_size;
  void* first;        /* the first held cell, halo included */
  void* first_owned;  /* the first owned cell */
  int64_t strides[3]; /* in elements */
  int64_t component_stride;
  halocline_box held; /* owned and halo, in global coordinates */
} halocline_field_info;

#define HALOCLINE_FIELD_INFO                                  \
  {                                                           \
    sizeof(halocline_field_info), NULL, NULL, {0, 0, 0}, 0, { \
      {0, 0, 0}, { 0, 0, 0 }                                  \
    }                                                         \
  }

halocline_status halocline_field_get_info(const halocline_field* field, halocline_field_info* info);

/* ---- exchange ---- */

/* A plan to fill the halos of some fields, made once and run many times. An exchange writes the
 * halo cells that lie in the domain or, along periodic axes, in the domain once wrapped around.
 * Halo cells beyond an edge of the domain along an axis that is not periodic keep their values,
 * which the program sets; also those in the corner between such an edge and a neighbour's side.
 * With "faces" so do all cells that lie outside the owned box along more than one axis. */
typedef struct halocline_exchange halocline_exchange;

typedef struct halocline_exchange_options {
  size_t struct_size;
  const char* neighbours;         /* "all", or "faces": no edges and corners */
  const halocline_widths* widths; /* to fill; null: each field's own halo */
  const char* transport;          /* "auto", one name for every peer, or one for each kind of pair:
                                     "self=self,same-node=shared,other-node=mpi"; nccl and nvshmem
                                     need same_order, whether it is set or not */
  const char* proofs; /* file of proofs that MPI accepts GPU memory; null: the user's cache */
  int same_order;     /* 1 promises that every rank starts all exchanges of the communicator in the
                         same order, as a loop over time steps does: then "auto" may use nccl, which
                         matches messages by their order. With another order halos would be wrong,
                         or a wait would never end. */
} halocline_exchange_options;

#define HALOCLINE_EXCHANGE_OPTIONS \
  { sizeof(halocline_exchange_options), "all", NULL, "auto", NULL, 0 }

/* Plans an exchange of `count` fields of one grid, with one message per peer for all of them, and
 * opens its transports. Null options are the defaults. Collective. Returns the same error on every
 * rank: usage if the ranks' plans differ, a field is listed twice or a width exceeds a halo or the
 * cells of a neighbour, unavailable if the named transport cannot reach a peer. */
halocline_status halocline_exchange_create(const halocline_grid* grid,
                                           halocline_field* const* fields, int count,
                                           const halocline_exchange_options* options,
                                           halocline_exchange** exchange);
/* Waits for an exchange in flight, destroys the plan and sets the handle to null. Does nothing for
 * a null handle. */
halocline_status halocline_exchange_destroy(halocline_exchange** exchange);
/* The same without the order: sets the handle to null and parks the plan, which
 * halocline_exchange_create on the same communicator destroys once all ranks have parked theirs.
 * For finalisers, which run at any time, on any thread, also while another one is inside Halocline;
 * before MPI_Finalize nothing has to be done about it. Halos of an exchange in flight are not
 * filled, and its arrays have to exist until then. Not collective. */
halocline_status halocline_exchange_park(halocline_exchange** exchange);

/* A null stream is the host's, never CUDA's default stream, in C++, C and Fortran alike. CUDA's
 * default stream is cudaStreamLegacy or cudaStreamPerThread. */
#define HALOCLINE_HOST_STREAM ((void*)0)
/* cudaStreamLegacy, for programs without CUDA's headers. */
#define HALOCLINE_CUDA_DEFAULT_STREAM ((void*)1)

/* start sends the values written before it; finish makes the halos visible to the work after it.
 * Between them the program may read, but not write, owned cells within a halo's width of the
 * boundary, and may neither read nor write the halo. Give both the same `stream`:
 * - a cudaStream_t, for memory that a GPU reads: both are ordered with the stream's other work, and
 *   the host continues (finish waits where a transport needs the host).
 * - HALOCLINE_HOST_STREAM: all earlier work on the fields must be done before start, also on GPUs,
 *   and the halos are filled when finish returns. For directives without a stream: wait for the
 *   kernels, start, update the cells that need no halo, finish.
 * Usage if start and finish do not alternate, communication if a peer does not answer within the
 * wait limit. OpenACC's queue q is the stream acc_get_cuda_stream(q). GCC 12's OpenMP offers no
 * stream. */
halocline_status halocline_exchange_start(halocline_exchange* exchange, void* stream);
/* Advances transports that need the host; `done` (may be null) gets 1 once finish would not wait.
 */
halocline_status halocline_exchange_progress(halocline_exchange* exchange, int* done);
halocline_status halocline_exchange_finish(halocline_exchange* exchange, void* stream);
/* start, then finish. */
halocline_status halocline_exchange_run(halocline_exchange* exchange, void* stream);
/* The same for other arrays in the place of the exchange's `count` fields: each with the strides,
 * extents and kind of memory of one of them, in their order, which is not checked. `arrays` has the
 * addresses of their first cells, halo included, as halocline_field_wrap takes and
 * halocline_field_info tells them. They may be others at each call, and on each rank; finish fills
 * those of start. A CUDA graph keeps the arrays that it was recorded with. Costs no more than with
 * the fields themselves, whose memory need not exist any more. Usage for another count, for a null
 * address, and where GPUs copy for addresses that do not differ from the fields' by a multiple of
 * 16 bytes, and for others than the fields' if there are more than 32. */
halocline_status halocline_exchange_start_at(halocline_exchange* exchange, void* const* arrays,
                                             int count, void* stream);
halocline_status halocline_exchange_run_at(halocline_exchange* exchange, void* const* arrays,
                                           int count, void* stream);

typedef struct halocline_exchange_info {
  size_t struct_size;
  int64_t messages, bytes; /* sent to other ranks by one exchange; one message per peer */
  const char* transports;  /* the transports in use: "self=self,same-node=shared" */
  const char* reasons;     /* a line each: times of transports tried, fallbacks; may be "" */
} halocline_exchange_info;

#define HALOCLINE_EXCHANGE_INFO \
  { sizeof(halocline_exchange_info), 0, 0, NULL, NULL }

/* Gets the messages and transports of an exchange. The exchange owns the texts. */
halocline_status halocline_exchange_get_info(const halocline_exchange* exchange,
                                             halocline_exchange_info* info);

/* ---- GPUs ---- */

typedef struct halocline_device_info {
  size_t struct_size;
  int ordinal; /* CUDA's, OpenACC's and OpenMP's number among the GPUs visible to this process */
  int ranks_on_gpu; /* including this one */
  char name[96], uuid[48];
} halocline_device_info;

#define HALOCLINE_DEVICE_INFO \
  { sizeof(halocline_device_info), -1, 0, "", "" }

/* Assigns each rank one of the GPUs visible to it and makes that GPU's primary context current for
 * the calling thread. Call it before the first CUDA call and the first directive: directives then
 * use that context too, instead of a second one in which Halocline's memory and streams are
 * invalid. Pass `ordinal` to OpenACC (acc_set_device_num) and OpenMP (omp_set_default_device).
 * `info` may be null. Collective over `communicator`, a handle as for halocline_grid_create.
 * Unavailable, on every rank, if a rank sees no GPU: continue without. */
halocline_status halocline_bind_device(int communicator, halocline_device_info* info);

/* ---- measures ---- */

/* The next three functions and halocline_report_write take fields of one component whose elements
 * are float (4 bytes) or double (8), in any memory, and return usage for others. All work on the
 * field must be done. */

/* Fills the owned cells with the noise that `halocline solve laplace --seed N` starts from (its
 * default seed is 12345): values in [0, 1), the same for every split. Leaves halo cells unchanged.
 * Collective. */
halocline_status halocline_field_noise(halocline_field* field, uint64_t seed);
/* Computes the checksum of all owned cells of all ranks, as `halocline solve` prints it: equal for
 * equal values, whatever the split. Collective. */
halocline_status halocline_field_checksum(const halocline_field* field, uint64_t* checksum);
/* Sums all owned cells of all ranks. Collective. */
halocline_status halocline_field_sum(const halocline_field* field, double* sum);

/* All-reduces the ranks' partial norms `share` to the norm: kind "max", the largest; "l2", the root
 * of their sum, where each is a sum of squares. The same on every rank and in every run.
 * Collective. */
halocline_status halocline_norm(const halocline_grid* grid, const char* kind, double share,
                                double* norm);

typedef struct halocline_report_options {
  size_t struct_size;
  const char* problem;  /* its name, the report's title */
  const char* backend;  /* what computes the sweeps: "openacc" */
  const char* schedule; /* "sequential", "overlap", or your own word */
  int threads;          /* per rank */
  int64_t sweeps;
  const char* norm;  /* "max", "l2" or "none" */
  double norm_value; /* of the last sweep */
  double tolerance;  /* at which the run stops; negative: none */
  double setup_seconds, first_sweep_seconds;
  double
      loop_seconds; /* of the sweeps after the first; of all sweeps if first_sweep_seconds is 0 */
  const char* text; /* file for the text; "-" for standard output; null: none */
  const char* json; /* the same for JSON */
} halocline_report_options;

#define HALOCLINE_REPORT_OPTIONS                                                                  \
  {                                                                                               \
    sizeof(halocline_report_options), "program", "program", "sequential", 1, 0, "none", 0, -1, 0, \
        0, 0, "-", NULL                                                                           \
  }

/* Writes, on rank 0, a report in the form of `halocline solve`: checksum and sum of `field`, rate
 * and times of the slowest rank, ranks, transports, halo. `exchange` is the one that ran.
 * Collective. Returns, on every rank, usage for invalid options, resource if writing fails. */
halocline_status halocline_report_write(const halocline_field* field,
                                        const halocline_exchange* exchange,
                                        const halocline_report_options* options);

#ifdef __cplusplus
}
#endif
#endif
