/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HALOCLINE_SOLVER_H
#define HALOCLINE_SOLVER_H
/* Halocline for C: solving stencil problems, with the program's own arrays as fields if it likes,
 * `halocline solve` as a function; and checkpoints of any program with a grid. Link
 * libhalocline_solver. Status, handles, threads and options are as in <halocline/halocline.h>. */

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

/* An option by its name and a word, as `halocline solve` takes it: {"sweeps", "100"}, {"norm",
 * "max"}, {"backend", "cpu"}, {"transport", "peer"}, {"verify", "yes"}. docs/options.md lists the
 * names; those with several values may be repeated. */
typedef struct halocline_option {
  const char* name;
  const char* value;
} halocline_option;

/* How far a run is. */
typedef struct halocline_progress {
  size_t struct_size;    /* of the library that calls */
  int64_t sweep, sweeps; /* done, and in all */
  int64_t first;         /* sweeps that an earlier run had done */
  double norm;           /* the last one; NaN without any */
  double seconds, glups;
  int64_t saved; /* sweeps that the newest checkpoint of this run has; -1 without any */
} halocline_progress;

typedef struct halocline_solve_options {
  size_t struct_size;
  const char* problem; /* name of a built-in problem, or path of a file */
  const char* text;    /* instead: the text of a problem file, the same on every
                          rank; errors call it `problem`, if that is not null */
  const halocline_solve_array* arrays;
  int array_count;
  const halocline_parameter* parameters; /* instead of the problem's values */
  int parameter_count;
  const halocline_option* options; /* without any, as the problem says or chosen here */
  int option_count;
  const char* report; /* file for the report of `halocline solve`; "-" for
                         standard output; null: none */
  const char* json;   /* the same as JSON */
  /* Called on rank 0 during the sweeps, at most every 0.5 s, and at their end; or null. */
  void (*on_progress)(const halocline_progress* progress, void* user);
  /* Called on every rank between sweeps, at least twice a second if a sweep takes no longer; must
   * be cheap. Null is for all ranks or for none. If it returns a text on any rank, the reason, such
   * as "SIGTERM", and not null, the run ends between two sweeps that all ranks agree on, after a
   * checkpoint if there is a folder for it. The text is copied at once. */
  const char* (*stop_request)(void* user);
  void* user; /* the program's own, which both get */
} halocline_solve_options;

#define HALOCLINE_SOLVE_OPTIONS                                                               \
  {                                                                                           \
    sizeof(halocline_solve_options), NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, \
        NULL, NULL                                                                            \
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
  /* The report of `halocline solve` and its JSON, in which all else is: norms, series, phases, how
   * the run was chosen; docs/report.md lists the keys. Empty on ranks other than 0. The library
   * owns them, and keeps them until the thread's next call of halocline_solve. */
  const char* report;
  const char* json;
} halocline_solve_result;

#define HALOCLINE_SOLVE_RESULT \
  { sizeof(halocline_solve_result), 0, 0, 0, 0.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, NULL, NULL }

/* Solves a problem on the cells and the process grid of a grid; the problem defines which of its
 * axes are periodic. Every call begins at time 0, with start values of the problem or of arrays,
 * and allocates its own time levels; it keeps no reference to the arrays. `result` may be null.
 * Collective: options that differ between ranks are a usage error, except threads and proofs. Usage
 * also for mistakes in the problem, with line and column; unavailable, resource, communication and
 * device as the calls of halocline.h. If only something after the sweeps failed, a file that could
 * not be written or the verification, arrays and `result` are filled all the same. A result that is
 * not finite is no error. */
halocline_status halocline_solve(const halocline_grid* grid, const halocline_solve_options* options,
                                 halocline_solve_result* result);

/* Describes what halocline_solve would solve on that many ranks, with cells and process grid as
 * options: `*json` gets an object with the problem's cells, fields, coefficients, parameters,
 * sweeps and norm; docs/report.md lists the keys. The library owns the text, and keeps it until the
 * thread's next call of this function. Arrays, reports and callbacks are not looked at. Not
 * collective, and before MPI_Init too. Usage for what halocline_solve would refuse. */
halocline_status halocline_describe_solve(const halocline_solve_options* options, int ranks,
                                          const char** json);

/* ---- checkpoints ---- */

/* A field of the program by its name in a file: letters, digits, '_', '-', '.', 64 at most. */
typedef struct halocline_named_field {
  const char* name;
  halocline_field*
      field; /* float or double, one component, in any memory; all work on it must be done */
} halocline_named_field;

typedef struct halocline_checkpoint_options {
  size_t struct_size;
  const char* text;  /* for the program's own use after reading: its step, its time; of rank 0,
                        16 MiB at most; or null */
  double origin[3];  /* where viewers place the first cell's lower corner, */
  double spacing[3]; /* and the size of a cell */
} halocline_checkpoint_options;

#define HALOCLINE_CHECKPOINT_OPTIONS                                   \
  {                                                                    \
    sizeof(halocline_checkpoint_options), NULL, {0, 0, 0}, { 1, 1, 1 } \
  }

/* Writes the owned cells of fields of the grid, all float or all double, to one file: the same for
 * every split, read by any number of ranks. It appears, or replaces an old one, once all of it is
 * on the disk; until then, and after an error, the old one remains. Viewers open it as VTKHDF if
 * its name ends in .vtkhdf and HDF5 was found. `options` may be null. Takes 12 MiB, and a copy on
 * the host of a field in GPU memory, one at a time. Collective, with the same names on all ranks.
 * Usage for other fields and names, and for a path that cannot be written; resource for a full or
 * broken disk, and if memory runs out. */
halocline_status halocline_write_checkpoint(const halocline_grid* grid,
                                            const halocline_named_field* fields, int field_count,
                                            const char* path,
                                            const halocline_checkpoint_options* options);

/* Reads fields of such a file, those named, into their owned cells; halos stay. `text`, if it is
 * not null, gets the address of the text, which the library owns and keeps until the thread's next
 * call of this function. All that is read is checked by hashes in the file. Reads checkpoints of
 * `halocline solve`, too; their text is empty. Collective. Usage also if the file does not exist,
 * is no checkpoint or is damaged, and if it has other cells, no such field or another precision;
 * resource if the disk fails. After an error fields may have new values in part. */
halocline_status halocline_read_checkpoint(const halocline_grid* grid,
                                           const halocline_named_field* fields, int field_count,
                                           const char* path, const char** text);

#ifdef __cplusplus
}
#endif
#endif
