// SPDX-License-Identifier: Apache-2.0
// What tests of the C binding count and print.
#include <stdio.h>
#include <string.h>

static int failures = 0, rank, ranks;

static void fail(const char* file, int line, const char* what) {
  fprintf(stderr, "%s:%d: rank %d: %s (last error: %s)\n", file, line, rank, what,
          halocline_last_error());
  ++failures;
}

#define CHECK(condition) ((condition) ? (void)0 : fail(__FILE__, __LINE__, #condition))
#define OK(call) CHECK((call) == HALOCLINE_OK)
// The call fails with that status, and its text has these words.
#define FAILS(call, status, words) \
  CHECK((call) == HALOCLINE_##status && strstr(halocline_last_error(), words) != NULL)

// Reads a small file of rank 0's into `text`.
static inline void read_file(const char* path, char* text, size_t size) {
  FILE* file = fopen(path, "r");
  CHECK(file != NULL);
  text[0] = '\0';
  if (file == NULL) return;
  text[fread(text, 1, size - 1, file)] = '\0';
  fclose(file);
}
