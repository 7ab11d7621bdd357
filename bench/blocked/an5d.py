#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints AN5D's kernels for an5d.cu: an5d.py CHECKOUT float|double laplace|published

They are those that AN5D made of j2d5pt: kernel0_T does T sweeps in a pass, two constants in it
are the shape of a block, and a macro is the update."""

import pathlib
import re
import sys

# Threads of a block, sweeps in a pass, rows of a walk: the published sets and some around them.
SHAPES = [(256, 4, 256), (256, 6, 256), (256, 8, 128), (256, 8, 256), (256, 10, 128),
          (256, 10, 256), (256, 12, 128), (256, 12, 256), (512, 10, 256), (512, 13, 128),
          (512, 13, 256), (512, 16, 256)]
LAPLACE = "({real})0.25 * (((__SBREF(__b_sb, -1) + __SBREF(__b_sb, 1)) + __a) + __c)"


def edited(text, pattern, new):
    text, times = re.subn(pattern, new, text)
    if times != 1:
        sys.exit(f"an5d.py: '{pattern}' occurs {times} times, not once: AN5D's text has changed")
    return text


checkout, real, formula = sys.argv[1:]
source = pathlib.Path(checkout) / "compiled" / real / "j2d5pt-512-16-256_kernel.cu"
head, *kernels = re.split(r"__global__ void kernel0_(?=\d)", source.read_text())
of_sweeps = {int(re.match(r"\d+", kernel).group()): kernel for kernel in kernels}
print(edited(head, "#include .*", ""))
table = []
for threads, sweeps, rows in SHAPES:
    name = f"kernel_{threads}_{sweeps}_{rows}"
    kernel = edited(of_sweeps[sweeps], r"^\d+", "__global__ void " + name)
    kernel = edited(kernel, r"(?<=__side1Len = )\d+", str(rows))
    kernel = edited(kernel, r"(?<=__side2Len = )\d+", str(threads - 2 * sweeps))
    if formula == "laplace":
        kernel = edited(kernel, r"(?<=__rn0 = ).*(?=; \} while)", LAPLACE.format(real=real))
    print(kernel)
    table.append(f"{{{name}, {threads}, {sweeps}, {rows}}}")
print("const Shape shapes[] = {" + ",\n".join(table) + "};")
