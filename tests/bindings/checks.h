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
