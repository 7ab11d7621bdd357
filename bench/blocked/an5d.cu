// SPDX-License-Identifier: Apache-2.0
// Times AN5D's kernels.

#include "timing.cuh"

/// A kernel and its constants: a block walks over `rows` rows, and writes the columns of its
/// threads but `sweeps` on each side.
struct Shape {
  void (*kernel)(Real* levels, int width, int all_sweeps, int pass);
  int threads, sweeps, rows;
};

#include "kernels.cuh"  // the kernels and `shapes`, as an5d.py prints them

int main() {
  for (const int cells : {16384, 4096}) {  // multiples of all rows: AN5D refuses a short rest
    Bench bench(cells, cells + 2);
    for (const Shape& s : shapes) {
      const int columns = s.threads - 2 * s.sweeps;
      const int blocks = cells / s.rows * ((cells + columns - 1) / columns);
      const bool published = s.threads == 256 && s.sweeps == 10 && s.rows == 256;  // for V100
      const auto launch = "bS=" + std::to_string(s.threads) + ",sl=" + std::to_string(s.rows);
      bench.measure({s.sweeps, 0, published, launch}, [&](int pass) {
        s.kernel<<<blocks, s.threads>>>(bench.level(0), bench.width, s.sweeps * (pass + 1), pass);
      });
    }
  }
}
