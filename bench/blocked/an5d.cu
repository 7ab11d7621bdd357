// SPDX-License-Identifier: Apache-2.0
// Times AN5D's kernels.

#include "timing.cuh"

/// A kernel and its constants: a block walks over `walk` rows, or planes, and writes the cells of
/// its threads but `sweeps` on each side.
struct Shape {
  void (*kernel)(Real* levels, int width, int all_sweeps, int pass);
  int threads[AXES - 1];  ///< along x, and y
  int sweeps, walk;
  bool published;  ///< for V100
};

#include "kernels.cuh"  // the kernels and `shapes`, as an5d.py prints them

int main() {
  // Multiples of all walks: AN5D refuses a short rest.
  for (const int cells : AXES == 2 ? std::vector{16384, 4096} : std::vector{512}) {
    Bench bench(cells, cells + 2);
    for (const Shape& s : shapes) {
      int blocks = cells / s.walk, threads = 1;
      std::string launch;
      for (const int along : s.threads) {
        const int written = along - 2 * s.sweeps;
        blocks *= (cells + written - 1) / written;
        threads *= along;
        launch += (launch.empty() ? "bS=" : "x") + std::to_string(along);
      }
      launch += ",sl=" + std::to_string(s.walk);
      bench.measure({s.sweeps, 0, s.published, launch}, [&](int pass) {
        s.kernel<<<blocks, threads>>>(bench.level(0), bench.width, s.sweeps * (pass + 1), pass);
      });
    }
  }
}
