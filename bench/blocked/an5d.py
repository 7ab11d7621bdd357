#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints AN5D's kernels for an5d.cu: an5d.py CHECKOUT 2|3 float|double laplace|published

They are those that AN5D made of j2d5pt or star3d1r: kernel0_T does T sweeps in a pass, constants
in it are the shape of a block, and a macro is the update."""

import pathlib
import re
import sys

SOURCE = {2: "j2d5pt-512-16-256", 3: "star3d1r-32x32-7-256"}
# Threads of a block along x (and y), sweeps in a pass, rows (or planes) of a walk: the published
# sets and some around them.
SHAPES = {2: [(256, 4, 256), (256, 6, 256), (256, 8, 128), (256, 8, 256), (256, 10, 128),
              (256, 10, 256), (256, 12, 128), (256, 12, 256), (512, 10, 256), (512, 13, 128),
              (512, 13, 256), (512, 16, 256)],
          3: [(*block, sweeps, planes) for planes in (128, 256)
              for block, most in [((32, 16), 4), ((64, 16), 4), ((32, 32), 6)]
              for sweeps in range(2, most + 1)]}
# The first row of compiled/v100_*.csv.
PUBLISHED = {(2, "float"): (256, 10, 256), (2, "double"): (256, 10, 256),
             (3, "float"): (32, 32, 5, 128), (3, "double"): (32, 32, 4, 128)}
LAPLACE = {2: "({real})0.25 * (((__SBREF(__b_sb, -1) + __SBREF(__b_sb, 1)) + __a) + __c)",
           3: "({real})(1.0 / 6) * (((__SBREF(__b_sb, 0, -1) + __SBREF(__b_sb, 0, 1)) + "
              "(__SBREF(__b_sb, -1, 0) + __SBREF(__b_sb, 1, 0))) + (__a + __c))"}


def edited(text, pattern, new):
    text, times = re.subn(pattern, new, text)
    if times != 1:
        sys.exit(f"an5d.py: '{pattern}' occurs {times} times, not once: AN5D's text has changed")
    return text


checkout, axes, real, formula = sys.argv[1:]
axes = int(axes)
source = pathlib.Path(checkout) / "compiled" / real / f"{SOURCE[axes]}_kernel.cu"
head, *kernels = re.split(r"__global__ void kernel0_(?=\d)", source.read_text())
of_sweeps = {int(re.match(r"\d+", kernel).group()): kernel for kernel in kernels}
print(edited(head, "#include .*", ""))
table = []
for shape in SHAPES[axes]:
    *block, sweeps, walk = shape
    name = "kernel_" + "_".join(map(str, shape))
    kernel = edited(of_sweeps[sweeps], r"^\d+", "__global__ void " + name)
    # Axis 1 is the one of the walk; the last is x.
    for axis, cells in enumerate([walk] + [size - 2 * sweeps for size in reversed(block)], 1):
        kernel = edited(kernel, rf"(?<=__side{axis}Len = )\d+", str(cells))
    if formula == "laplace":
        kernel = edited(kernel, r"(?<=__rn0 = ).*(?=; \} while)", LAPLACE[axes].format(real=real))
    print(kernel)
    published = str(shape == PUBLISHED[axes, real]).lower()
    table.append(f"{{{name}, {{{', '.join(map(str, block))}}}, {sweeps}, {walk}, {published}}}")
print("const Shape shapes[] = {" + ",\n".join(table) + "};")
