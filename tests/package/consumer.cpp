// SPDX-License-Identifier: Apache-2.0
// Uses an installed Halocline from another project.

#include <cstdio>

#include <halocline/halocline.hpp>
#include <halocline/version.hpp>

int main() {
  const halocline::Grid grid(0, 1, {.cells = {16, 8}});
  const halocline::Field<double> field(grid);
  std::printf("halocline %s: %lld cells\n", HALOCLINE_VERSION,
              static_cast<long long>(field.shape().owned.cells()));
  return field.shape().owned.cells() == 128 ? 0 : 1;
}
