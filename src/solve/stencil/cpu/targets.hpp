// SPDX-License-Identifier: Apache-2.0
// The kinds of vectors that kernels are compiled for. Include it before <hwy/foreach_target.h>; no
// #pragma once, since Highway compiles the file that includes it several times.

// Vectors of a length unknown at compile time cannot be members of a class. SSSE3 and AVX3_DL gain
// nothing over their neighbours.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3 | HWY_AVX3_DL)
