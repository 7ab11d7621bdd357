/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HALOCLINE_SOLVER_H
#define HALOCLINE_SOLVER_H
/* Halocline for C: solving stencil problems, with the program's own arrays as fields if it likes.
 * `halocline solve` as a function. Link libhalocline_solver. Status, handles, threads and options
 * are as in <halocline/halocline.h>. */

#include <halocline/halocline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An array of the program for a field or a coefficient of the problem: a field of the grid with one
 * component, float or double as the precision, in any memory, with any halo and strides. On a GPU x
 * must be the fastest axis, then y, then z. Owned cells alone are read and written. */
typedef struct halocline_solve_array {
  const char* name;       /* of the field or coefficient of the problem */
  halocline_field* field; /* all work on it must be done */
  const char* use;        /* "start": it has the start values; "result": it gets the result; "both",
                             as null is. Coefficients are only read. */
} halocline_solve_array;

typedef struct halocline_parameter {
  const char* name;
  double value;
} halocline_parameter;

typedef struct halocline_solve_options {
  size_t struct_size;
  const char* problem; /* name of a built-in problem, or path of a file */
  const char* text;    /* instead: the text of a problem file, the same on every
                          rank; errors call it `problem`, if that is not null */
  const halocline_solve_array* arrays;
  int array_count;
  const halocline_parameter* parameters; /* instead of the problem's values */
  int parameter_count;
  int64_t sweeps;          /* negative: as many as the problem says */
  double tolerance;        /* stop when the norm is at most this; negative: as the
                              problem says */
  const char* norm;        /* "max", "l2", "none"; null: the problem's */
  int64_t norm_every;      /* a norm every so many sweeps */
  const char* precision;   /* "f32", "f64"; null: that of the arrays, or without
                              any the problem's */
  int64_t seed;            /* of the noise; negative: the default, 12345 */
  const char* backend;     /* "auto", "cpu", "cuda", "reference" */
  const char* memory;      /* as of a field; "auto": device or host */
  const char* transport;   /* as of an exchange */
  const char* proofs;      /* as of an exchange */
  const char* schedule;    /* "auto", "sequential", "overlap", ... */
  const char* graph;       /* CUDA graphs: "auto", "on", "off" */
  int64_t halo_depth;      /* sweeps per exchange */
  int threads;             /* per rank; 0: the rank's share of the node's cores */
  double tuning_seconds;   /* to spend on timing alternatives; 0: choose by rule;
                              negative: 2 % of the sweeps, at most 2 s */
  const char* tuning_file; /* keeps the fastest choices for later runs; or null */
  const char* report;      /* file for the report of `halocline solve`; "-" for
                              standard output; null: none */
  const char* json;        /* the same as JSON */
  const char* layout;      /* how fields lie in memory: "array", rows of cells; "brick",
                              bricks of 8x8x8, 8x8 or 64; "brick:32x4x4", of so many;
                              null: "auto", which is array */
} halocline_solve_options;

#define HALOCLINE_SOLVE_OPTIONS                                                                 \
  {                                                                                             \
    sizeof(halocline_solve_options), NULL, NULL, NULL, 0, NULL, 0, -1, -1.0, NULL, 1, NULL, -1, \
        "auto", "auto", "auto", NULL, "auto", "auto", 1, 0, -1.0, NULL, NULL, NULL, NULL        \
  }

typedef struct halocline_solve_result {
  size_t struct_size;
  int64_t sweeps;    /* done */
  int converged;     /* the norm met the tolerance */
  int diverged;      /* the norm, or a value of the result, is not finite */
  double norm;       /* the last one; NaN without any */
  uint64_t checksum; /* of the first field of the problem, and its sum */
  double sum;
  double setup_seconds, compile_seconds; /* the first includes the second */
  double first_sweep_seconds, loop_seconds;
  double glups; /* thousand million updates a second, of all ranks */
} halocline_solve_result;

#define HALOCLINE_SOLVE_RESULT \
  { sizeof(halocline_solve_result), 0, 0, 0, 0.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 }

/* Solves a problem on the cells and the process grid of a grid; the problem says which of its axes
 * are periodic. Every call begins at time 0, with start values of the problem or of arrays, and
 * allocates its own time levels; arrays are kept by nobody. `result` may be null. Collective:
 * options that differ between ranks are a usage error, except threads and proofs. Usage also for
 * mistakes in the problem, with line and column; unavailable, resource, communication and device as
 * the calls of halocline.h. If only a report could not be written, arrays and `result` are filled
 * all the same. A result that is not finite is no error. */
halocline_status halocline_solve(const halocline_grid* grid, const halocline_solve_options* options,
                                 halocline_solve_result* result);

#ifdef __cplusplus
}
#endif
#endif
